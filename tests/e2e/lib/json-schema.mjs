// As much of JSON Schema 2020-12 as docs/admin-api.json uses. Stricter than it in one way: a word that this does not know is
// an error, so that nothing goes unchecked.

const typeOf = (value) =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : Number.isInteger(value) ? 'integer' : typeof value;

const ANNOTATIONS = new Set(['description', 'default', 'title']);

/** The faults of `value`, as lines; none: valid. `find` gives the schema that a $ref names. */
export function faults(value, schema, find, at = '$') {
  const out = [];
  const wrong = (what) => out.push(`${at}: ${what}`);
  for (const [word, wanted] of Object.entries(schema)) {
    if (word === '$ref') out.push(...faults(value, find(wanted), find, at));
    else if (word === 'type') {
      const types = [wanted].flat();
      const is = typeOf(value);
      if (!types.includes(is) && !(is === 'integer' && types.includes('number'))) wrong(`is ${is}, not ${types}`);
    } else if (word === 'enum') {
      if (!wanted.some((one) => one === value)) wrong(`is ${JSON.stringify(value)}, none of ${wanted}`);
    } else if (word === 'anyOf') {
      const each = wanted.map((one) => faults(value, one, find, at));
      if (!each.some((list) => list.length === 0)) out.push(...each.flat());
    } else if (word === 'required') {
      if (typeOf(value) !== 'object') continue;
      for (const name of wanted) if (!(name in value)) wrong(`has no ${name}`);
    } else if (word === 'properties') {
      if (typeOf(value) !== 'object') continue;
      for (const [name, inner] of Object.entries(wanted))
        if (name in value) out.push(...faults(value[name], inner, find, `${at}.${name}`));
    } else if (word === 'additionalProperties') {
      if (typeOf(value) !== 'object') continue;
      for (const [name, member] of Object.entries(value)) {
        if (name in (schema.properties ?? {})) continue;
        if (wanted === false) wrong(`has ${name}, which the document does not name`);
        else out.push(...faults(member, wanted, find, `${at}.${name}`));
      }
    } else if (word === 'items') {
      if (Array.isArray(value)) value.forEach((one, i) => out.push(...faults(one, wanted, find, `${at}[${i}]`)));
    } else if (word === 'minItems') {
      if (value.length < wanted) wrong(`has fewer than ${wanted} elements`);
    } else if (word === 'maxItems') {
      if (value.length > wanted) wrong(`has more than ${wanted} elements`);
    } else if (word === 'maxLength') {
      if (value.length > wanted) wrong(`is longer than ${wanted}`);
    } else if (word === 'minimum') {
      if (value < wanted) wrong(`is less than ${wanted}`);
    } else if (word === 'maximum') {
      if (value > wanted) wrong(`is more than ${wanted}`);
    } else if (!ANNOTATIONS.has(word)) wrong(`the schema says ${word}, which is not known here`);
  }
  return out;
}
