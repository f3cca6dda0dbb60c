#!/usr/bin/env bash
# Counts words. The copied text stays JSON-escaped. To parse lines completely, use jq.
pattern='"id":"([0-9]+)".*"content":"(([^"\\]|\\.)*)"'
while IFS= read -r line; do
  [[ $line =~ $pattern ]] || continue
  id=${BASH_REMATCH[1]}
  text=${BASH_REMATCH[2]}
  read -ra words <<<"$text"
  printf '{"type":"message.create","payload":{"request_id":"%s","content":"%s: %s words"}}\n' "$id" "$text" "${#words[@]}"
done
