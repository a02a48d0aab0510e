#!/bin/sh
# Runs Chromium without the pages of its own address bar, which it would load for each window: two for each
# context of a test, also without a screen, at several times the processor time of the test's own page. They
# are named here, as Chromium heeds only its last list of features, and Playwright has one of its own.
for argument in "$@"; do
  shift
  case $argument in
    --disable-features=*) argument=$argument,WebUIOmniboxPopup,WebUIOmniboxAimPopup ;;
  esac
  set -- "$@" "$argument"
done
exec /usr/bin/chromium "$@"
