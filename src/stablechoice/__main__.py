"""`python -m stablechoice` is the command line."""

import sys

from stablechoice.cli import main

sys.exit(main())
