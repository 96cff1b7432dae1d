#!/usr/bin/env bash
# conf/prometheus/ and conf/grafana/ name only metrics that there are (docs/metrics.md), every alert has its section in
# docs/runbook.md. If Debian's promtool is there (package prometheus), the rules pass their tests and it reads every
# expression of the dashboard.
#   monitoring.sh
#   monitoring.sh selftest   files with a fault in them are refused
set -euo pipefail
cd "$(dirname "$0")/../.."
export LC_ALL=C

faults_of() {  # RULES DASHBOARD
  local rules=$1 dashboard=$2 metric name
  while read -r metric; do
    for name in "$metric" "${metric%_bucket}" "${metric%_sum}" "${metric%_count}"; do
      grep -q "\`$name\`" docs/metrics.md && continue 2
    done
    echo "there is no metric $metric"
  done < <(grep -ohE '\b(lineward|mcp|http_server|process)_[a-z_]+[a-z]' "$rules" "$dashboard" | sort -u)
  while read -r name; do
    grep -qx "## $name" docs/runbook.md || echo "docs/runbook.md has no section $name"
    grep -q "runbook_url: docs/runbook.md#${name,,}\$" "$rules" || echo "$rules: $name does not lead to its section"
  done < <(sed -nE 's/^ *- alert: //p' "$rules")
  node -e 'JSON.parse(fs.readFileSync(process.argv[1]))' "$dashboard" 2>/dev/null || echo "$dashboard: is no JSON"
  command -v promtool >/dev/null || return 0
  promtool check rules "$rules" >/dev/null 2>&1 || echo "$rules: promtool does not read it"
  local as_rules
  as_rules=$(mktemp)
  node -e '
    const values = { $__rate_interval: "5m", $job: ".*", $instance: ".*", $server: ".*" };
    const { panels } = JSON.parse(fs.readFileSync(process.argv[1]));
    console.log("groups:\n  - name: dashboard\n    rules:");
    panels.flatMap((panel) => panel.targets ?? []).forEach(({ expr }, number) => {
      for (const [name, value] of Object.entries(values)) expr = expr.replaceAll(name, value);
      console.log(`      - record: dashboard:${number}\n        expr: ${JSON.stringify(expr)}`);
    });' "$dashboard" >"$as_rules" 2>/dev/null || true
  promtool check rules "$as_rules" >/dev/null 2>&1 || echo "$dashboard: promtool does not read an expression of it"
  rm -f "$as_rules"
}

selftest() {
  local folder failed=0
  folder=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$folder'" EXIT
  try() {  # FILE, what sed does to it
    cp conf/prometheus/lineward.rules.yaml conf/grafana/lineward.json "$folder"
    sed -i "$2" "$folder/$1"
    [ -n "$(faults_of "$folder/lineward.rules.yaml" "$folder/lineward.json")" ] || { echo "selftest: not found: $1 $2"; failed=1; }
  }
  try lineward.rules.yaml s/lineward_timeouts_total/lineward_timeout_total/
  try lineward.rules.yaml 's/alert: LinewardTimeouts/alert: LinewardLimits/'
  try lineward.rules.yaml 's/#linewardtimeouts/#timeouts/'
  try lineward.json s/lineward_requests_queued/lineward_request_queued/
  try lineward.json '$d'
  ! command -v promtool >/dev/null || try lineward.json '0,/sum by (reason) (/s//sum by (reason) ((/'
  [ $failed = 0 ] && echo "faults are found"
  return $failed
}

if [ "${1:-}" = selftest ]; then selftest; exit; fi
found=$(faults_of conf/prometheus/lineward.rules.yaml conf/grafana/lineward.json)
if [ -n "$found" ]; then echo "$found"; exit 1; fi
if command -v promtool >/dev/null; then (cd conf/prometheus && promtool test rules lineward.rules.test.yaml); fi
echo "what is watched is there"
