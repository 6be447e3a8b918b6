#!/bin/sh
# Archives a closed round and adds it up, again each night until it works: a second run writes what is missing.
# cron:    0 3 * * *  CAMPAIGN=3f0c… LAKE=s3://bucket/telemetry sh /srv/nightly.sh
# Airflow: BashOperator(task_id="sums", bash_command="sh /srv/nightly.sh ", env={"CAMPAIGN": …, "LAKE": …}, append_env=True)
set -eu
folder=$(sordino export reports "$CAMPAIGN" --round "${ROUND:-0}" --to "$LAKE")
rm -f sums.cbor.new
sordino aggregate --from "$folder" --output sums.cbor.new
mv sums.cbor.new "sums-$CAMPAIGN-${ROUND:-0}.cbor"
