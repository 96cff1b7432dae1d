{{- define "lineward.name" -}}
{{- printf "%s" .Release.Name | trunc 53 | trimSuffix "-" -}}
{{- end }}

{{- define "lineward.labels" -}}
app.kubernetes.io/name: lineward
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "lineward.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "lineward.locked" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: ["ALL"]
{{- end }}

{{/* More than one at times: one that scales, too. */}}
{{- define "lineward.many" -}}
{{- if or .Values.autoscaling.enabled (gt (int .Values.replicas) 1) }}yes{{ end }}
{{- end }}

{{/* The configuration: what the mode needs, and the values' own over it. */}}
{{- define "lineward.config" -}}
{{- $delay := .Values.shutdown.delay }}
{{- $drain := .Values.shutdown.drain }}
{{- if eq .Values.mode "sidecar" }}{{ $delay = 0 }}{{ $drain = 10 }}{{ end }}
{{- $made := dict
      "listen" (dict "address" ":8000")
      "ops" (dict "address" ":9464")
      "admin" (dict "address" "unix:/run/lineward/admin.sock")
      "log" (dict "format" "json")
      "shutdown" (dict "delay" (printf "%ds" (int $delay)) "drain" (printf "%ds" (int $drain))) }}
{{- $server := .Values.server }}
{{- if eq .Values.mode "stdio" }}
{{- $one := dict "command" (first $server.command) "args" (rest $server.command) "required" true }}
{{- $names := $server.passEnv }}
{{- range $server.env }}{{ $names = append $names .name }}{{ end }}
{{- if $names }}{{ $_ := set $one "inheritEnv" (uniq $names) }}{{ end }}
{{- $_ := set $made "mcpServers" (dict $server.name $one) }}
{{- else if eq .Values.mode "sidecar" }}
{{- $_ := set $made "mcpServers" (dict $server.name (dict "url" (printf "http://127.0.0.1:%d%s" (int $server.port) $server.path) "required" true)) }}
{{- end }}
{{- if .Values.replicaKeySecret }}{{ $_ := set $made "replicas" (dict "keyFile" "/run/secrets/replicas/replicas.key") }}{{ end }}
{{- mergeOverwrite $made (deepCopy .Values.config) | toYaml }}
{{- end }}

{{/* Who is alive, ready, and has begun. Ready waits for the servers, the start does not: it is Lineward's alone. */}}
{{- define "lineward.probes" -}}
startupProbe:
  httpGet: { path: /livez, port: ops }
  periodSeconds: 1
  failureThreshold: 30
readinessProbe:
  httpGet: { path: /readyz, port: ops }
  periodSeconds: 5
  timeoutSeconds: 2
livenessProbe:
  httpGet: { path: /livez, port: ops }
  periodSeconds: 10
  timeoutSeconds: 2
  failureThreshold: 3
{{- end }}

{{- define "lineward.ports" -}}
ports:
  - { name: mcp, containerPort: 8000 }
  - { name: ops, containerPort: 9464 }
{{- end }}

{{- define "lineward.mounts" -}}
- { name: lineward-config, mountPath: /etc/lineward, readOnly: true }
- { name: lineward-run, mountPath: /run/lineward }
{{- if .Values.secret }}
- { name: lineward-secret, mountPath: /run/secrets/lineward, readOnly: true }
{{- end }}
{{- if .Values.replicaKeySecret }}
- { name: replica-key, mountPath: /run/secrets/replicas, readOnly: true }
{{- end }}
{{- end }}
