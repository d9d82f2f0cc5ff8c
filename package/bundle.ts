import { cp } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { BunPlugin } from 'bun';
import { embedDashboard } from '../src/api/dashboard/embedding.ts';

/** The service and its commands as files for Bun, which contain the dashboard, and the files that it serves. */

const SOURCE = resolve(import.meta.dir, '../src');
const THREAD = join(SOURCE, 'store/database/sqlite/thread-program.ts');

export async function bundleService(outDir: string): Promise<void> {
  await Bun.build({
    entrypoints: [join(SOURCE, 'main.ts'), THREAD],
    outdir: outDir,
    naming: { entry: '[name].[ext]' },
    target: 'bun',
    format: 'esm',
    minify: true,
    // A command loads its own part of the service. As one file, Bun would parse all of it for each.
    splitting: true,
    plugins: [await embedDashboard(), filesBeside(outDir), threadBeside()],
  });
}

/** A file that is imported for its path is copied, and its path is found where the package is installed. */
function filesBeside(outDir: string): BunPlugin {
  return {
    name: 'files-beside',
    setup(build) {
      build.onLoad({ filter: /\.css$|[/\\]swagger-ui-bundle\.js$/ }, async ({ path }) => {
        const name = basename(path);
        await cp(path, join(outDir, name));
        const contents = `import { fileURLToPath } from 'node:url';
          export default fileURLToPath(new URL('./${name}', import.meta.url));`;
        return { contents, loader: 'js' };
      });
    },
  };
}

/** The program of the thread is a file of its own, and is JavaScript here. */
function threadBeside(): BunPlugin {
  return {
    name: 'thread-beside',
    setup(build) {
      build.onLoad({ filter: /[/\\]sqlite[/\\]thread\.ts$/ }, async ({ path }) => {
        const text = await Bun.file(path).text();
        const contents = text.replace("'./thread-program.ts', import", "'./thread-program.js', import");
        if (contents === text) throw new Error(`${path} starts no thread-program.ts`);
        return { contents, loader: 'ts' };
      });
    },
  };
}
