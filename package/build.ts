import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import root from '../package.json' with { type: 'json' };
import { bundleDeclarations } from './declarations.ts';
import { writeOutAliases } from './schema-aliases.ts';

/**
 * Builds the package that integrators install: the client and the verifier, each as one module with its declarations
 * and without dependencies. `npm run build:package` writes it to dist/package, or to the folder given as an argument.
 */

const ROOT = resolve(import.meta.dir, '..');
const ENTRIES = ['client', 'verify'] as const;

export async function buildPackage(outDir: string): Promise<void> {
  await rm(outDir, { recursive: true, force: true });
  const declarations = await mkdtemp(join(tmpdir(), 'paybell-declarations-'));
  try {
    await emitDeclarations(declarations);
    const read = async (path: string) =>
      writeOutAliases(await Bun.file(path).text(), join(ROOT, 'src', relative(declarations, path)));
    for (const entry of ENTRIES) {
      const text = await bundleDeclarations(join(declarations, entry, 'package.d.ts'), read);
      await Promise.all([
        Bun.write(join(outDir, `${entry}.d.ts`), text),
        Bun.write(join(outDir, `${entry}.d.cts`), text),
        Bun.write(join(outDir, `${entry}.js`), await bundleModule(entry, 'esm')),
        Bun.write(join(outDir, `${entry}.cjs`), await bundleModule(entry, 'cjs')),
      ]);
    }
  } finally {
    await rm(declarations, { recursive: true, force: true });
  }
  await Bun.write(join(outDir, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`);
  await cp(join(ROOT, 'LICENSE'), join(outDir, 'LICENSE'));
  await cp(join(import.meta.dir, 'README.md'), join(outDir, 'README.md'));
}

async function emitDeclarations(outDir: string): Promise<void> {
  const compiler = join(ROOT, 'node_modules/.bin/tsc');
  const project = join(import.meta.dir, 'tsconfig.json');
  const child = Bun.spawn([compiler, '-p', project, '--outDir', outDir], { stdout: 'pipe', stderr: 'inherit' });
  const output = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`tsc could not emit the declarations:\n${output}`);
}

/** One file for each entry, so that users can import nothing but the two entries. */
async function bundleModule(entry: string, format: 'esm' | 'cjs'): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [join(ROOT, 'src', entry, 'package.ts')],
    target: 'browser',
    format,
  });
  return (await outputs[0]?.text()) ?? '';
}

function manifest() {
  const { name, version, license, engines } = root;
  return {
    name,
    version,
    description: 'Client and verifier for Paybell, webhooks for crypto payments',
    license,
    type: 'module',
    sideEffects: false,
    engines: { node: engines.node },
    exports: {
      ...Object.fromEntries(ENTRIES.map((entry) => [`./${entry}`, conditions(entry)])),
      './package.json': './package.json',
    },
    files: ENTRIES.flatMap((entry) => [`${entry}.js`, `${entry}.d.ts`, `${entry}.cjs`, `${entry}.d.cts`]),
  };
}

/** Many receivers still use CommonJS, so the package has both formats, each with its own declarations. */
function conditions(entry: string) {
  return {
    import: { types: `./${entry}.d.ts`, default: `./${entry}.js` },
    require: { types: `./${entry}.d.cts`, default: `./${entry}.cjs` },
  };
}

if (import.meta.main) await buildPackage(resolve(process.argv[2] ?? join(ROOT, 'dist/package')));
