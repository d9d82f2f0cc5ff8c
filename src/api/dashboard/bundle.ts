import { join } from 'node:path';

/** One file of the page as the bundler made it: its name carries a hash of its content. */
export type DashboardFile = { readonly name: string; readonly type: string; readonly text: string };

const ENTRY = join(import.meta.dir, '../../dashboard/main.tsx');

/**
 * The page's scripts and styles, bundled in memory in a few dozen milliseconds: a checkout needs no build step. A
 * compiled executable has no sources to bundle; there the build puts the finished files in the place of this module.
 */
export async function bundleDashboard(): Promise<DashboardFile[]> {
  const { outputs } = await Bun.build({
    entrypoints: [ENTRY],
    target: 'browser',
    minify: true,
    splitting: true,
    naming: { entry: '[name]-[hash].[ext]', chunk: '[name]-[hash].[ext]', asset: '[name]-[hash].[ext]' },
    define: { 'process.env.NODE_ENV': '"production"' },
    tsconfig: join(import.meta.dir, '../../dashboard/tsconfig.json'),
  });
  return Promise.all(
    outputs.map(async (output) => ({
      name: output.path.replace(/^.*\//, ''),
      type: output.type,
      text: await output.text(),
    })),
  );
}
