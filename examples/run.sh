#!/bin/sh
# Starts the example's application, and becomes edge in front of it:
#   run.sh EDGE APP ARGUMENTS…
# /api goes to the application, at a unix socket without a file. The application
# ends with the process that edge is, however that ends.
set -eu
edge=$1 app=$2
shift 2
socket=@edge-example-$$
"$app" "$socket" &
exec "$edge" serve --proxy "/api=unix:$socket" "$@"
