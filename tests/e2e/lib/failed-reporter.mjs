// A reporter for node's test runner: one line for each failed test, so that it can run once more.
//
//   COUNT <tab> FILE <tab> NAME
//
// COUNT is how many failures go with it: its own and those of the tests within. FILE is empty where only a helper's file is
// known, and NAME is empty where the file itself failed.
import { isAbsolute, relative } from 'node:path';

const isTest = (file = '') => file.endsWith('.test.mjs');
const here = (file) => (isAbsolute(file) ? relative(process.cwd(), file) : file);
const origin = ({ file, details: { error } }) =>
  isTest(file) ? file : /\/[^\s():]+\.test\.mjs/.exec(error?.cause?.stack ?? '')?.[0];

export default async function* failed(events) {
  let count = 0;
  for await (const { type, data } of events) {
    if (type === 'test:fail' && data.details.type !== 'suite') count += 1;
    if (data?.nesting !== 0 || (type !== 'test:fail' && type !== 'test:pass')) continue;
    const whole = isTest(data.name);
    const file = whole ? data.name : origin(data);
    if (type === 'test:fail')
      yield `${count}\t${file ? here(file) : ''}\t${whole ? '' : data.name.replaceAll(/[\t\n]/g, ' ')}\n`;
    count = 0;
  }
}
