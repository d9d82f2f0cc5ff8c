import { join } from 'node:path';

/** One bundled file of the dashboard. Its name contains a hash of its content. */
export type DashboardFile = { readonly name: string; readonly type: string; readonly text: string };

const ENTRY = join(import.meta.dir, '../../dashboard/main.tsx');

/**
 * Bundles the scripts and styles in memory within a few dozen milliseconds, so that a checkout needs no build step. In a
 * compiled executable, `embedDashboard` replaces this module with the bundled files.
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
