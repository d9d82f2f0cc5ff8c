import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { bundleDeclarations } from './types/declarations.ts';
import { writeOutAliases } from './types/schema-aliases.ts';

/** The client and the verifier, each as one module in two formats, with declarations and without dependencies. */

const ROOT = resolve(import.meta.dir, '..');

export const MODULES = ['client', 'verify'] as const;
export type Module = (typeof MODULES)[number];

/** The files of a module, relative to the package. */
export function filesOf(module: Module): string[] {
  return ['js', 'd.ts', 'cjs', 'd.cts'].map((extension) => `${module}.${extension}`);
}

/** Many receivers still use CommonJS, so the package has both formats, each with its own declarations. */
export function conditionsOf(module: Module) {
  return {
    import: { types: `./${module}.d.ts`, default: `./${module}.js` },
    require: { types: `./${module}.d.cts`, default: `./${module}.cjs` },
  };
}

export async function buildModules(outDir: string): Promise<void> {
  const declarations = await mkdtemp(join(tmpdir(), 'paybell-declarations-'));
  try {
    await emitDeclarations(declarations);
    const read = async (path: string) =>
      writeOutAliases(await Bun.file(path).text(), join(ROOT, 'src', relative(declarations, path)));
    for (const module of MODULES) {
      const text = await bundleDeclarations(join(declarations, module, 'package.d.ts'), read);
      await Promise.all([
        Bun.write(join(outDir, `${module}.d.ts`), text),
        Bun.write(join(outDir, `${module}.d.cts`), text),
        Bun.write(join(outDir, `${module}.js`), await bundleModule(module, 'esm')),
        Bun.write(join(outDir, `${module}.cjs`), await bundleModule(module, 'cjs')),
      ]);
    }
  } finally {
    await rm(declarations, { recursive: true, force: true });
  }
}

async function emitDeclarations(outDir: string): Promise<void> {
  const compiler = join(ROOT, 'node_modules/.bin/tsc');
  const project = join(import.meta.dir, 'tsconfig.json');
  const child = Bun.spawn([compiler, '-p', project, '--outDir', outDir], { stdout: 'pipe', stderr: 'inherit' });
  const output = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`tsc could not emit the declarations:\n${output}`);
}

/** One file for each module, so that users can import nothing but the two. */
async function bundleModule(module: Module, format: 'esm' | 'cjs'): Promise<string> {
  const { outputs } = await Bun.build({
    entrypoints: [join(ROOT, 'src', module, 'package.ts')],
    target: 'browser',
    format,
  });
  return (await outputs[0]?.text()) ?? '';
}
