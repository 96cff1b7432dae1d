// A cluster accepts conf/kubernetes/chart, rendered by helm: by the schemas of Kubernetes, Gateway API, cert-manager and the
// Prometheus operator, and by the references between its parts. Lineward reads the configuration itself. A cluster is not needed, and none
// is asked.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { connect } from 'node:tls';
import yaml from 'js-yaml';
import { authority } from '../../e2e/lib/certificates.mjs';
import { Inbox } from '../../e2e/lib/events.mjs';
import { root, run } from './tools.mjs';

const chart = `${root}conf/kubernetes/chart`;
const lineward = process.env.LINEWARD ?? `${root}build/lineward`;

// The kinds that the chart has, each with the name of its schema.
const SCHEMAS = {
  'v1 ConfigMap': 'kubernetes-models/_schemas/IoK8sApiCoreV1ConfigMap.js',
  'v1 Service': 'kubernetes-models/_schemas/IoK8sApiCoreV1Service.js',
  'apps/v1 Deployment': 'kubernetes-models/_schemas/IoK8sApiAppsV1Deployment.js',
  'policy/v1 PodDisruptionBudget': 'kubernetes-models/_schemas/IoK8sApiPolicyV1PodDisruptionBudget.js',
  'autoscaling/v2 HorizontalPodAutoscaler': 'kubernetes-models/_schemas/IoK8sApiAutoscalingV2HorizontalPodAutoscaler.js',
  'networking.k8s.io/v1 NetworkPolicy': 'kubernetes-models/_schemas/IoK8sApiNetworkingV1NetworkPolicy.js',
  'gateway.networking.k8s.io/v1 HTTPRoute': '@kubernetes-models/gateway-api/_schemas/IoK8sSigsGatewayApiApisV1HTTPRoute.js',
  'gateway.networking.k8s.io/v1 BackendTLSPolicy':
    '@kubernetes-models/gateway-api/_schemas/IoK8sSigsGatewayApiApisV1BackendTLSPolicy.js',
  'cert-manager.io/v1 Certificate':
    '@kubernetes-models/cert-manager/_schemas/ComGithubCertManagerCertManagerPkgApisCertmanagerV1Certificate.js',
  'monitoring.coreos.com/v1 PodMonitor':
    '@kubernetes-models/prometheus-operator/_schemas/ComGithubPrometheusOperatorPrometheusOperatorPkgApisMonitoringV1PodMonitor.js',
};

async function faults(object) {
  const path = SCHEMAS[`${object.apiVersion} ${object.kind}`];
  if (!path) return [`no schema of ${object.apiVersion} ${object.kind}`];
  const { validate } = await import(new URL(`node_modules/${path}`, import.meta.url));
  return validate(object) ? [] : validate.errors.map((one) => `${object.kind}${one.instancePath} ${one.schemaPath}`);
}

function scratch(t) {
  const folder = mkdtempSync(join(tmpdir(), 'lineward-chart-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** The objects that the values make, or what helm says against them. */
function render(t, values) {
  const file = join(scratch(t), 'values.yaml');
  writeFileSync(file, typeof values === 'string' ? values : yaml.dump(values));
  const { code, out, err } = run('helm', ['template', 'mcp', chart, '--namespace', 'tools', '-f', file]);
  if (code !== 0) return { err };
  return { objects: yaml.loadAll(out).filter(Boolean) };
}

const example = (name) => readFileSync(`${chart}/examples/${name}.yaml`, 'utf8');
const of = (objects, kind) => objects.find((object) => object.kind === kind);
const configOf = (objects) => yaml.load(of(objects, 'ConfigMap').data['lineward.yaml']);
const seconds = (text) => Number(/^(\d+)s$/.exec(text)?.[1] ?? NaN);

/** Writes the files of a Secret as the kubelet does: behind the link `..data`, which an update replaces. */
function mountSecret(folder, files) {
  mkdirSync(folder, { recursive: true });
  const before = existsSync(join(folder, '..data')) && realpathSync(join(folder, '..data'));
  const version = mkdtempSync(`${folder}/..`);
  for (const [key, content] of Object.entries(files)) {
    writeFileSync(join(version, key), content, { mode: 0o440 });
    if (!existsSync(join(folder, key))) symlinkSync(join('..data', key), join(folder, key));
  }
  symlinkSync(basename(version), join(folder, '..data_tmp'));
  renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
  if (before) rmSync(before, { recursive: true });
}

/** The files of a Secret of type kubernetes.io/tls, with its authority. */
function tlsSecret(ca, name) {
  const { tls } = ca.certificate(name, { days: 90 });
  return { 'tls.crt': tls.cert, 'tls.key': tls.key, 'ca.crt': ca.ca };
}

/** Lineward's own verdict; secrets that the cluster would mount are in a folder. */
function validated(t, text) {
  const folder = scratch(t);
  const file = join(folder, 'lineward.yaml');
  const paths = text.replaceAll('/run/secrets', `${folder}/secrets`).replaceAll('/run/lineward', folder);
  if (text.includes('/run/secrets/tls/')) {
    const ca = authority(t);
    mountSecret(`${folder}/secrets/tls`, tlsSecret(ca, 'mcp.example.com'));
    mountSecret(`${folder}/secrets/clients`, { 'ca.crt': ca.ca });
  }
  for (const [, name] of paths.matchAll(/(\/[\w./-]*\/secrets\/[\w./-]+)/g)) {
    if (existsSync(name)) continue;
    mkdirSync(name.slice(0, name.lastIndexOf('/')), { recursive: true });
    writeFileSync(name, `${'k'.repeat(44)}\n`, { mode: 0o600 });
  }
  writeFileSync(file, paths);
  const done = spawnSync(lineward, ['validate', '--strict', file], { encoding: 'utf8' });
  return done.status === 0 ? '' : done.stderr + done.stdout;
}

const VARIANTS = {
  ...Object.fromEntries(readdirSync(`${chart}/examples`).map((file) => [file, example(file.replace('.yaml', ''))])),
  'the binary from an image volume': `${example('stdio')}\nbinary: image\n`,
  'a server with variables': {
    mode: 'stdio',
    server: { image: 'a:1', command: ['run', '--x', 'a b'], env: [{ name: 'TOKEN', value: 'x' }], passEnv: ['NODE_ENV'], writable: ['/tmp', '/data'] },
  },
  'TLS by a Secret': { tls: { secretName: 'mcp-certificate' } },
  'TLS in front of a server in the pod': { mode: 'sidecar', server: { image: 'a:1' }, tls: { secretName: 'mcp-certificate' } },
  'TLS in the image of a stdio server': `${example('stdio')}\ntls: { secretName: mcp-certificate }\n`,
  'TLS behind a gateway': {
    tls: { secretName: 'mcp-certificate' },
    httpRoute: { enabled: true, parentRefs: [{ name: 'public' }], hostnames: ['mcp.example.com'], backendCa: 'mcp-ca' },
  },
  'no servers yet': {},
  'everything about pods': {
    podAnnotations: { a: 'b' }, nodeSelector: { disk: 'ssd' }, tolerations: [{ key: 'x', operator: 'Exists' }],
    imagePullSecrets: [{ name: 'pull' }], replicas: 2, env: [{ name: 'A', value: 'b' }],
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: {} }],
  },
};

for (const [name, values] of Object.entries(VARIANTS)) {
  test(`${name}: every object is valid, and Lineward reads its configuration`, async (t) => {
    const { objects, err } = render(t, values);
    assert.ok(objects, err);
    for (const object of objects) assert.deepEqual(await faults(object), []);
    assert.equal(validated(t, of(objects, 'ConfigMap').data['lineward.yaml']), '');
  });

  test(`${name}: the parts fit each other`, (t) => {
    const { objects } = render(t, values);
    const deployment = of(objects, 'Deployment');
    const pod = deployment.spec.template.spec;
    const config = configOf(objects);
    const all = [...(pod.initContainers ?? []), ...pod.containers];
    const speaks = all.find((one) => one.ports);
    const port = (wanted) => speaks.ports.find((one) => one.name === wanted).containerPort;
    assert.equal(config.listen.address, `:${port('mcp')}`);
    assert.equal(config.ops.address, `:${port('ops')}`);
    assert.deepEqual(of(objects, 'Service').spec.selector, deployment.spec.selector.matchLabels);
    assert.deepEqual(deployment.spec.template.metadata.labels, deployment.spec.selector.matchLabels);
    assert.equal(speaks.livenessProbe.httpGet.path, '/livez');
    assert.equal(speaks.readinessProbe.httpGet.path, '/readyz');
    for (const one of all) {
      assert.equal(one.securityContext.allowPrivilegeEscalation, false, one.name);
      assert.deepEqual(one.securityContext.capabilities.drop, ['ALL']);
      // Every mount is there, and every writable place is a volume.
      for (const mount of one.volumeMounts ?? []) assert.ok(pod.volumes.some((volume) => volume.name === mount.name), mount.name);
    }
    // Each file of a Secret is in a mount. With a subPath the kubelet would not update it.
    const secrets = speaks.volumeMounts.filter(({ mountPath }) => mountPath.startsWith('/run/secrets/'));
    for (const [, path] of JSON.stringify(config).matchAll(/(\/run\/secrets\/[^/"]+)\//g))
      assert.ok(secrets.some(({ mountPath, subPath }) => mountPath === path && !subPath), path);
    for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) {
      assert.equal(speaks[probe].httpGet.port, 'ops');
      assert.equal(speaks[probe].httpGet.scheme, undefined, 'the ops port is without TLS');
    }
    const [service] = of(objects, 'Service').spec.ports;
    assert.deepEqual([service.appProtocol, service.port], config.listen.tls ? ['https', 443] : ['http', 80]);
    const preStop = Math.max(0, ...all.map((one) => one.lifecycle?.preStop?.sleep?.seconds ?? 0));
    const stop = 10;
    const end = preStop + seconds(config.shutdown.delay) + seconds(config.shutdown.drain) + stop;
    assert.ok(end < pod.terminationGracePeriodSeconds, `${end} s do not fit into ${pod.terminationGracePeriodSeconds}`);
    const many = deployment.spec.replicas === undefined || deployment.spec.replicas > 1;
    assert.equal(of(objects, 'PodDisruptionBudget') !== undefined, many);
    assert.equal(of(objects, 'Service').spec.sessionAffinity, many ? 'ClientIP' : undefined);
  });
}

test('the schemas see what is wrong', async (t) => {
  const deployment = of(render(t, {}).objects, 'Deployment');
  deployment.spec.template.spec.containers[0].ports[0].containerPort = 'mcp';
  assert.match((await faults(deployment)).join(), /containerPort/);
  assert.deepEqual(await faults({ apiVersion: 'v2', kind: 'Deployment' }), ['no schema of v2 Deployment']);
});

test('a stdio image becomes a probed deployment in at most 12 lines', (t) => {
  const text = example('stdio');
  assert.ok(text.trimEnd().split('\n').length <= 12);
  const { objects } = render(t, text);
  const pod = of(objects, 'Deployment').spec.template.spec;
  assert.equal(pod.containers[0].image, 'registry.example.com/weather-mcp:1.2.0');
  assert.deepEqual(pod.containers[0].command, ['/opt/lineward/lineward', 'run', '/etc/lineward/lineward.yaml']);
  assert.deepEqual(pod.initContainers[0].args, ['copy-self', '/opt/lineward']);
  assert.deepEqual(configOf(objects).mcpServers, { app: { command: 'node', args: ['/app/dist/index.js'], required: true } });
});

test('variables of the container reach the server, and no others', (t) => {
  const { objects } = render(t, VARIANTS['a server with variables']);
  assert.deepEqual(configOf(objects).mcpServers.app.inheritEnv, ['NODE_ENV', 'TOKEN']);
});

test('a route, an autoscaler and a monitor say what they must', (t) => {
  const { objects } = render(t, example('edge'));
  const [rule] = of(objects, 'HTTPRoute').spec.rules;
  assert.deepEqual(rule.timeouts, { request: '0s', backendRequest: '0s' });
  const { metric } = of(objects, 'HorizontalPodAutoscaler').spec.metrics[0].pods;
  assert.ok(readFileSync(`${root}docs/metrics.md`, 'utf8').includes(`\`${metric.name}\` | gauge`));
  assert.equal(of(objects, 'PodMonitor').spec.podMetricsEndpoints[0].path, '/metrics');
  const [mcp, ops] = of(objects, 'NetworkPolicy').spec.ingress;
  assert.deepEqual(mcp.from, [{ podSelector: {} }]);
  assert.equal(ops.ports[0].port, 'ops');
});

test('TLS: the certificate, its authorities and the issuer are the ones that the values name', (t) => {
  const { objects } = render(t, example('tls'));
  const { tls } = configOf(objects).listen;
  assert.deepEqual(tls, {
    certificate: '/run/secrets/tls/tls.crt', key: '/run/secrets/tls/tls.key',
    clientCertificates: { authorities: '/run/secrets/clients/ca.crt', names: ['spiffe://example.com/agents/*'], required: true },
  });
  const { volumes } = of(objects, 'Deployment').spec.template.spec;
  const secret = (name) => volumes.find((volume) => volume.name === name).secret;
  const certificate = of(objects, 'Certificate').spec;
  assert.equal(secret('tls').secretName, certificate.secretName);
  assert.deepEqual(certificate.dnsNames, ['mcp.example.com']);
  assert.deepEqual(certificate.issuerRef, { name: 'letsencrypt', kind: 'ClusterIssuer', group: 'cert-manager.io' });
  // The Secret of an authority may have its key too: the pod gets the certificate alone.
  assert.deepEqual(secret('tls-clients').items, [{ key: 'ca.crt', path: 'ca.crt' }]);
  for (const one of [secret('tls'), secret('tls-clients')]) assert.equal(one.defaultMode, 0o440);
});

test('TLS: names of a certificate, and the authorities in its own Secret', (t) => {
  const tls = { certManager: { issuer: 'inner' }, clientCertificates: { enabled: true } };
  const { objects } = render(t, { tls });
  const { secretName, dnsNames, issuerRef } = of(objects, 'Certificate').spec;
  assert.equal(secretName, 'mcp-tls');
  assert.deepEqual(dnsNames, ['mcp.tools.svc', 'mcp.tools', 'mcp'], 'those of the Service');
  assert.equal(issuerRef.kind, 'Issuer');
  assert.equal(configOf(objects).listen.tls.clientCertificates.authorities, '/run/secrets/tls/ca.crt');
  const hosts = { config: { listen: { allowedHosts: ['a.test:8443', 'b.test'] } } };
  assert.deepEqual(of(render(t, { tls, ...hosts }).objects, 'Certificate').spec.dnsNames, ['a.test', 'b.test']);
  const named = { certManager: { issuer: 'inner', dnsNames: ['c.test'] } };
  assert.deepEqual(of(render(t, { tls: named, ...hosts }).objects, 'Certificate').spec.dnsNames, ['c.test']);
});

test('TLS: a gateway speaks TLS to the Service, which has a port of its own if the values say so', (t) => {
  const { objects } = render(t, { ...VARIANTS['TLS behind a gateway'], config: { listen: { allowedHosts: ['mcp.example.com'] } } });
  const { targetRefs, validation } = of(objects, 'BackendTLSPolicy').spec;
  assert.deepEqual(targetRefs, [{ group: '', kind: 'Service', name: 'mcp', sectionName: 'mcp' }]);
  assert.deepEqual(validation, { hostname: 'mcp.example.com', caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: 'mcp-ca' }] });
  assert.equal(of(objects, 'HTTPRoute').spec.rules[0].backendRefs[0].port, 443);
  assert.equal(of(render(t, example('edge')).objects, 'BackendTLSPolicy'), undefined);
  const own = render(t, { service: { port: 8443 }, config: { listen: { tls: { selfSigned: true } } } }).objects;
  const [port] = of(own, 'Service').spec.ports;
  assert.deepEqual([port.port, port.appProtocol], [8443, 'https'], 'also with TLS by `config`');
});

test('a changed configuration rolls the pods', (t) => {
  const sum = (values) => of(render(t, values).objects, 'Deployment').spec.template.metadata.annotations['checksum/config'];
  assert.notEqual(sum({}), sum({ config: { log: { level: 'debug' } } }));
  assert.equal(sum({}), sum({ replicas: 1 }));
});

for (const [what, values, said] of [
  ['a word that is no option', { replica: 2 }, /replica/],
  ['stdio without a command', { mode: 'stdio', server: { image: 'a' } }, /command/],
  ['sidecar without an image', { mode: 'sidecar' }, /image/],
  ['a mode that is none', { mode: 'daemon' }, /mode/],
  ['a route that leads nowhere', { httpRoute: { enabled: true } }, /parentRefs/],
  ['a count that is a text', { replicas: '2' }, /replicas/],
  ['client certificates without TLS', { tls: { clientCertificates: { enabled: true } } }, /tls/],
  ['an issuer of an unknown kind', { tls: { certManager: { issuer: 'a', kind: 'Certificate' } } }, /kind/],
]) {
  test(`refused: ${what}`, (t) => {
    const { err, objects } = render(t, values);
    assert.equal(objects, undefined);
    assert.match(err, said);
  });
}

test('lint has nothing to say, and the version is the one of the sources', () => {
  const { code, out } = run('helm', ['lint', '--strict', chart, '-f', `${chart}/examples/stdio.yaml`]);
  assert.equal(code, 0, out);
  const version = /project\(lineward VERSION ([\d.]+)/.exec(readFileSync(`${root}CMakeLists.txt`, 'utf8'))[1];
  const { version: its, appVersion } = yaml.load(readFileSync(`${chart}/Chart.yaml`, 'utf8'));
  assert.deepEqual([its, appVersion], [version, version]);
});

test('packed, it is still the same chart', (t) => {
  const folder = scratch(t);
  const { code, err } = run('helm', ['package', chart, '-d', folder]);
  assert.equal(code, 0, err);
  const [file] = readdirSync(folder);
  assert.match(file, /^lineward-[\d.]+\.tgz$/);
  const { out } = run('helm', ['template', 'x', join(folder, file)]);
  assert.equal(yaml.loadAll(out).filter(Boolean).length, 3);
});

for (const directory of ['base', 'overlays/production']) {
  test(`kustomize ${directory}: a newer kubectl takes it too`, async () => {
    const { code, out, err } = run('kubectl', ['kustomize', `${root}conf/kubernetes/${directory}`]);
    assert.equal(code, 0, err);
    for (const object of yaml.loadAll(out).filter((one) => one && one.kind !== 'Namespace')) assert.deepEqual(await faults(object), []);
  });
}

// The steps of the pod of the stdio example, without a cluster: the binary is brought, runs the server of the image, and is
// probed.
test('the stdio example, run: brought by copy-self, ready, stopped', { skip: !existsSync(`${root}tests/e2e/node_modules`) }, async (t) => {
  const folder = scratch(t);
  const { objects } = render(t, {
    mode: 'stdio', server: { image: 'x', command: [process.execPath, `${root}tests/e2e/node_modules/@modelcontextprotocol/server-everything/dist/index.js`] },
    config: { listen: { address: '127.0.0.1:0' }, ops: { address: '127.0.0.1:0' }, admin: { address: 'off' }, shutdown: { delay: '0s' } },
  });
  const pod = of(objects, 'Deployment').spec.template.spec;
  const brought = spawnSync(lineward, [pod.initContainers[0].args[0], folder], { encoding: 'utf8' });
  assert.equal(brought.status, 0, brought.stderr);
  writeFileSync(join(folder, 'lineward.yaml'), of(objects, 'ConfigMap').data['lineward.yaml']);
  const child = spawn(join(folder, 'lineward'), ['run', join(folder, 'lineward.yaml')], { stdio: ['ignore', 'ignore', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  const exit = new Promise((resolve) => child.once('exit', resolve));
  const metrics = await new Promise((resolve) =>
    createInterface({ input: child.stderr }).on('line', (line) => {
      const found = /Metrics {2}(http:\S+)\/metrics/.exec(line)?.[1];
      if (found) resolve(found);
    }),
  );
  for (let status = 0; status !== 200; ) {
    status = (await fetch(`${metrics}/readyz`)).status;
    if (status !== 200) await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.equal((await fetch(`${metrics}/livez`)).status, 200);
  child.kill('SIGTERM');
  assert.equal(await exit, 0);
});

// A running pod gets the files of a renewed certificate, as from cert-manager and the kubelet.
test('the TLS example, run: probes without TLS, and a renewed Secret is shown without a restart', async (t) => {
  const folder = scratch(t);
  const ca = authority(t);
  const { objects } = render(t, {
    tls: { secretName: 'a', clientCertificates: { enabled: true } },
    config: {
      listen: { address: '127.0.0.1:0' }, ops: { address: '127.0.0.1:0' }, admin: { address: 'off' }, shutdown: { delay: '0s' },
      mcpServers: { a: { url: 'http://127.0.0.1:9/mcp' } },
    },
  });
  const text = of(objects, 'ConfigMap').data['lineward.yaml'].replaceAll('/run/secrets/tls', `${folder}/tls`);
  writeFileSync(join(folder, 'lineward.yaml'), text);
  mountSecret(`${folder}/tls`, tlsSecret(ca, 'first.test'));
  const child = spawn(lineward, ['run', join(folder, 'lineward.yaml')], { stdio: ['ignore', 'ignore', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  const exit = new Promise((resolve) => child.once('exit', resolve));
  const lines = new Inbox();
  createInterface({ input: child.stderr }).on('line', (line) => lines.put(line));
  const found = async (pattern) => pattern.exec(await lines.until((line) => pattern.test(line), `${pattern}`))[1];
  const port = await found(/https:\/\/127\.0\.0\.1:(\d+)\/mcp/);
  const ops = await found(/Metrics {2}(http:\S+)\/metrics/);
  assert.equal((await fetch(`${ops}/livez`)).status, 200);

  const shown = () =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, ca: ca.ca, checkServerIdentity: () => undefined });
      socket.once('error', reject);
      socket.once('secureConnect', () => {
        resolve(socket.getPeerCertificate().subject.CN);
        socket.destroy();
      });
    });
  assert.equal(await shown(), 'first.test');
  mountSecret(`${folder}/tls`, tlsSecret(ca, 'second.test'));
  await lines.until((line) => line.includes('tls.loaded') && line.includes('second.test'), 'tls.loaded');
  assert.equal(await shown(), 'second.test');
  child.kill('SIGTERM');
  assert.equal(await exit, 0);
});
