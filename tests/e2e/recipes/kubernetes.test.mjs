// conf/kubernetes, rendered by kubectl, is what a cluster takes: strictly by schema, and in what the parts say of each
// other. A cluster itself is not needed.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import Ajv2020 from 'ajv/dist/2020.js';
import { parse, parseAllDocuments } from 'yaml';
import { binary } from '../lib/binary.mjs';

const root = new URL('../../..', import.meta.url).pathname;
const schema = JSON.parse(readFileSync(`${root}tests/data/kubernetes/objects.schema.json`, 'utf8'));
// By kind, so that an error names the field rather than five kinds that do not match.
const ajv = new Ajv2020({ allErrors: true, strict: false });
ajv.addSchema(schema, 'objects');

function faults(object) {
  const validate = ajv.getSchema(`objects#/$defs/${object.kind}`);
  if (!validate) return [`no schema for kind ${object.kind}`];
  return validate(object) ? [] : validate.errors.map((e) => `${object.kind} ${e.instancePath} ${e.message}`);
}

function render(directory) {
  const text = execFileSync('kubectl', ['kustomize', `${root}conf/kubernetes/${directory}`], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return parseAllDocuments(text).map((document) => document.toJS());
}

const kind = (objects, wanted) => objects.find((object) => object.kind === wanted);
const seconds = (text) => Number(/^(\d+)s$/.exec(text)?.[1] ?? NaN);
// How long a server may take to stop after SIGTERM before the numbers in deployment.yaml no longer fit.
const APP_STOP = 10;

for (const directory of ['base', 'overlays/production']) {
  test(`${directory}: every object is valid`, () => {
    const objects = render(directory);
    assert.ok(objects.length >= 3);
    for (const object of objects) assert.deepEqual(faults(object), []);
  });

  test(`${directory}: the parts fit each other`, () => {
    const objects = render(directory);
    const pod = kind(objects, 'Deployment').spec.template.spec;
    const map = kind(objects, 'ConfigMap');
    const config = parse(map.data['lineward.yaml']);
    const [sidecar] = pod.initContainers;
    const [app] = pod.containers;

    assert.equal(pod.volumes.find((v) => v.configMap).configMap.name, map.metadata.name, 'the hashed name is used');
    assert.equal(sidecar.restartPolicy, 'Always');
    const port = (name) => sidecar.ports.find((p) => p.name === name).containerPort;
    assert.equal(config.listen.address, `:${port('mcp')}`);
    assert.equal(config.ops.address, `:${port('ops')}`);
    assert.equal(kind(objects, 'Service').spec.ports[0].targetPort, 'mcp');
    assert.deepEqual(kind(objects, 'Service').spec.selector, kind(objects, 'Deployment').spec.selector.matchLabels);

    assert.equal(sidecar.startupProbe.httpGet.path, '/livez', 'the app starts after the sidecar has: no waiting for it');
    assert.equal(sidecar.readinessProbe.httpGet.path, '/readyz');
    assert.equal(sidecar.livenessProbe.httpGet.path, '/livez', 'a dead app is no reason to restart the sidecar');

    const before = app.lifecycle.preStop.sleep.seconds;
    const call = seconds(config.mcpServers.app.timeouts.request);
    assert.ok(before >= call, 'a call under way finishes before the app is told to stop');
    const end = before + APP_STOP + seconds(config.shutdown.delay) + seconds(config.shutdown.drain);
    assert.ok(end < pod.terminationGracePeriodSeconds, `${end} s do not fit into the grace`);

    for (const container of [sidecar, app]) {
      assert.equal(container.securityContext.readOnlyRootFilesystem, true);
      assert.equal(container.securityContext.allowPrivilegeEscalation, false);
      assert.deepEqual(container.securityContext.capabilities.drop, ['ALL']);
    }
    assert.equal(pod.securityContext.runAsNonRoot, true);
    // Every file that is written has a place beside the read-only root.
    const socket = config.admin.address.replace(/^unix:/, '');
    assert.ok(sidecar.volumeMounts.some((m) => !m.readOnly && socket.startsWith(`${m.mountPath}/`)));
  });

  test(`${directory}: Lineward takes the configuration`, () => {
    const place = mkdtempSync(join(tmpdir(), 'lineward-k8s-'));
    try {
      const file = join(place, 'lineward.yaml');
      writeFileSync(file, kind(render(directory), 'ConfigMap').data['lineward.yaml']);
      execFileSync(binary(), ['validate', file], { stdio: 'pipe' });
    } finally {
      rmSync(place, { recursive: true });
    }
  });
}

test('the sidecar configuration is the one in the recipe', () => {
  assert.equal(readFileSync(`${root}conf/kubernetes/base/lineward.yaml`, 'utf8'), readFileSync(`${root}conf/sidecar.yaml`, 'utf8'));
});

// The check can fail: what a strict API server refuses is refused here.
const mistakes = {
  'a misspelt field': (pod) => (pod.initContainers[0].readinesProbe = pod.initContainers[0].readinessProbe),
  'a number as text': (pod) => (pod.initContainers[0].ports[0].containerPort = '8000'),
  'a wrong restart policy': (pod) => (pod.initContainers[0].restartPolicy = 'always'),
  'a restart policy on the app': (pod) => (pod.containers[0].restartPolicy = 'Always'),
  'probes on an init container that ends': (pod) => delete pod.initContainers[0].restartPolicy,
  'two actions in one probe': (pod) => (pod.initContainers[0].livenessProbe.tcpSocket = { port: 8000 }),
  'a text that should be true': (pod) => (pod.securityContext.runAsNonRoot = 'true'),
  'no container': (pod) => (pod.containers = []),
};
for (const [name, spoil] of Object.entries(mistakes)) {
  test(`the schema refuses ${name}`, () => {
    const deployment = structuredClone(kind(render('base'), 'Deployment'));
    spoil(deployment.spec.template.spec);
    assert.notDeepEqual(faults(deployment), []);
  });
}
