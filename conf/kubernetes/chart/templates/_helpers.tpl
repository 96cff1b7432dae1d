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

{{/* The Secret with the certificate; empty: the values have none. */}}
{{- define "lineward.tlsSecret" -}}
{{- if or .Values.tls.secretName .Values.tls.certManager.issuer -}}
{{ .Values.tls.secretName | default (printf "%s-tls" (include "lineward.name" .)) }}
{{- end }}
{{- end }}

{{/* By the whole configuration: `config` may have TLS of its own. */}}
{{- define "lineward.scheme" -}}
{{- $config := include "lineward.config" . | fromYaml }}
{{- $tls := ($config.listen | default dict).tls | default dict }}
{{- if or $tls.certificate $tls.certificates $tls.selfSigned }}https{{ else }}http{{ end }}
{{- end }}

{{- define "lineward.port" -}}
{{ .Values.service.port | default (ternary 443 80 (eq (include "lineward.scheme" .) "https")) }}
{{- end }}

{{/* Names of the certificate, as JSON. */}}
{{- define "lineward.dnsNames" -}}
{{- $name := include "lineward.name" . }}
{{- $names := .Values.tls.certManager.dnsNames }}
{{- if not $names }}
{{- range (.Values.config.listen | default dict).allowedHosts }}{{ $names = append $names (regexReplaceAll ":[0-9]+$" . "") }}{{ end }}
{{- end }}
{{- $names | default (list (printf "%s.%s.svc" $name .Release.Namespace) (printf "%s.%s" $name .Release.Namespace) $name) | uniq | toJson }}
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
{{- if include "lineward.tlsSecret" . }}
{{- $tls := dict "certificate" "/run/secrets/tls/tls.crt" "key" "/run/secrets/tls/tls.key" }}
{{- with .Values.tls.clientCertificates }}
{{- if .enabled }}
{{- $clients := dict "authorities" (printf "/run/secrets/%s/%s" (ternary "clients" "tls" (ne .secretName "")) .key) "required" .required }}
{{- if .names }}{{ $_ := set $clients "names" .names }}{{ end }}
{{- $_ := set $tls "clientCertificates" $clients }}
{{- end }}
{{- end }}
{{- $_ := set $made.listen "tls" $tls }}
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
{{- if include "lineward.tlsSecret" . }}
- { name: tls, mountPath: /run/secrets/tls, readOnly: true }
{{- with .Values.tls.clientCertificates }}
{{- if and .enabled .secretName }}
- { name: tls-clients, mountPath: /run/secrets/clients, readOnly: true }
{{- end }}
{{- end }}
{{- end }}
{{- end }}
