#!/usr/bin/env bash
# A SLURM cluster of two nodes on this machine, all of its state in one folder: cluster.sh start|stop|node|lose FOLDER [NODE]
#   start FOLDER      munged, slurmctld and the nodes n1 and n2 with two CPUs each; prints `export SLURM_CONF=...` when they are up
#   node FOLDER NODE  start a node (again)
#   lose FOLDER NODE  what a power cut does: the node's daemon, its jobs' steps and their processes are killed
#   stop FOLDER       end everything that start began
# Needs root and Debian's packages slurm-wlm and munge.
set -euo pipefail
action=$1 folder=$(realpath -m "$2") node=${3:-}
conf=$folder/slurm.conf

port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

configure() {
  mkdir -p "$folder"/{state,n1,n2,log,munge}
  chmod 755 "$folder" "$folder/munge"
  head -c 64 /dev/urandom >"$folder/munge/key"
  chmod 600 "$folder/munge/key"
  local host
  host=$(hostname -s)
  cat >"$conf" <<END
ClusterName=rehearsal
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(port)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
# A job that is queued again waits for the old credentials to expire: two minutes, unless told otherwise.
AuthInfo=socket=$folder/munge/socket,cred_expire=5
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/%n.pid
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0,requeue_setup_env_fail
ReturnToService=2
SlurmdTimeout=10
KillWait=60
MinJobAge=300
JobRequeue=1
SwitchType=switch/none
MpiDefault=none
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$(port) CPUs=2
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$(port) CPUs=2
# Jobs of the partition urgent take the nodes from those of rehearsal, which are told, get some seconds, and are queued again.
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=rehearsal Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=120
PartitionName=urgent Nodes=n1,n2 MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
END
}

start_node() {
  slurmd -N "$1" -f "$conf"
}

# A daemon's number, as its own file says it.
number() { cat "$folder/$1.pid" 2>/dev/null || true; }

# Processes below one, itself included, leaves first.
tree() {
  local child
  for child in $(pgrep -P "$1" || true); do tree "$child"; done
  echo "$1"
}

# Steps of a node: slurmstepd leaves slurmd, but goes on writing the node's log.
steps() {
  local process
  for process in $(pgrep -x slurmstepd || true); do
    if ls -l "/proc/$process/fd" 2>/dev/null | grep -qF " $folder/log/$1.log"; then echo "$process"; fi
  done
}

case $action in
  start)
    configure
    munged --force --socket="$folder/munge/socket" --key-file="$folder/munge/key" --pid-file="$folder/munge/munged.pid" \
      --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" --num-threads=1
    export SLURM_CONF=$conf
    slurmctld -f "$conf"
    start_node n1
    start_node n2
    for _ in $(seq 900); do
      if [ "$(sinfo --noheader --partition=rehearsal --Node --format=%T 2>/dev/null | grep -cx idle)" = 2 ]; then
        echo "export SLURM_CONF=$conf"
        exit 0
      fi
      sleep 0.2
    done
    echo "cluster: the nodes did not come up; see $folder/log" >&2
    tail -n 3 "$folder"/log/*.log "$folder/munge/log" >&2
    exit 1
    ;;
  node) start_node "$node" ;;
  lose)
    running=$(for step in $(steps "$node"); do tree "$step"; done)
    # All at once, as a power cut: what outlives the others by a moment would report how they ended.
    # shellcheck disable=SC2086
    kill -STOP $(number "$node") $running 2>/dev/null || true
    # shellcheck disable=SC2086
    kill -9 $(number "$node") $running 2>/dev/null || true
    ;;
  stop)
    for one in n1 n2; do
      for step in $(steps "$one"); do
        # shellcheck disable=SC2046
        kill -9 $(tree "$step") 2>/dev/null || true
      done
    done
    for one in n1 n2 slurmctld munge/munged; do
      running=$(number "$one")
      [ -z "$running" ] || kill "$running" 2>/dev/null || true
    done
    ;;
  *)
    echo "cluster: $action is none of start, node, lose and stop" >&2
    exit 2
    ;;
esac
