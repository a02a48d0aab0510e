#!/bin/sh
# Runs Chromium with a higher priority than the product, if that is permitted: it also plays the caller's
# microphone, which must not stutter on a busy machine. The first line is needed where Linux divides the cores
# among sessions (sched(7), autogroup).
{ echo -10 > /proc/self/autogroup; } 2> /dev/null
exec nice -n -10 "$(dirname "$0")/chromium.sh" "$@"
