import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { lockedPackages } from '../docs/generate-licences.ts';

const NODE_MODULES = resolve(import.meta.dir, '../node_modules');
const LICENCE_FILE = /^(licen[cs]e|copying|notice)/i;

/** The licences of the packages that the bundle contains, in full, as they require. Bun is a package of its own. */
export async function thirdPartyLicences(): Promise<string> {
  const contained = (await lockedPackages()).filter(({ name, shipped }) => shipped && !/^(@oven\/)?bun\b/.test(name));
  const texts = await Promise.all(
    contained.map(async ({ name, version, licence }) => {
      const heading = `${name} ${version} (${licence})`;
      return [heading, '-'.repeat(heading.length), ...(await licenceFiles(name))].join('\n\n');
    }),
  );
  return `${texts.join('\n\n\n')}\n`;
}

async function licenceFiles(name: string): Promise<string[]> {
  const folder = join(NODE_MODULES, name);
  const files = (await readdir(folder)).filter((file) => LICENCE_FILE.test(file)).sort();
  return Promise.all(files.map(async (file) => (await Bun.file(join(folder, file)).text()).trim()));
}
