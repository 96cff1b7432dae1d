// The workers of a gateway: LINEWARD_WORKERS outranks `workers` of every configuration. A test of what each worker has of
// its own counts by this number, or its server over HTTP has `workers: 'one'`.
export const WORKERS = Number(process.env.LINEWARD_WORKERS || 1);
