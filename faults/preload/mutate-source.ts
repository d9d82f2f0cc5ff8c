import { readFileSync } from 'node:fs';
import { plugin } from 'bun';

/**
 * Preloaded into `paybell serve`: replaces a text in one of its files, so that a test can hold a trial to finding a service
 * with that defect. The files themselves are unchanged.
 */

type Mutation = { readonly file: string; readonly find: string; readonly replace: string };

const { file, find, replace } = JSON.parse(process.env.FAULTS_MUTATION ?? '') as Mutation;

plugin({
  name: 'mutate-source',
  setup: (build) => {
    const filter = new RegExp(`/src/${file.replaceAll('.', '\\.')}$`);
    build.onLoad({ filter }, ({ path }) => {
      const source = readFileSync(path, 'utf8');
      if (!source.includes(find)) throw new Error(`${file} does not contain ${find}`);
      return { contents: source.replaceAll(find, replace), loader: 'ts' };
    });
  },
});
