// A cluster accepts conf/kubernetes/chart, rendered by helm: by the schemas of Kubernetes, Gateway API and the Prometheus
// operator, and by the references between its parts. Lineward reads the configuration itself. A cluster is not needed, and none
// is asked.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import yaml from 'js-yaml';
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

/** Lineward's own verdict; secrets that the cluster would mount lie in a folder. */
function validated(t, text) {
  const folder = scratch(t);
  const file = join(folder, 'lineward.yaml');
  const paths = text.replaceAll('/run/secrets', `${folder}/secrets`).replaceAll('/run/lineward', folder);
  for (const [, name] of paths.matchAll(/(\/[\w./-]*\/secrets\/[\w./-]+)/g)) {
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
