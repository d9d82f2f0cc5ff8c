import type { BunPlugin } from 'bun';
import { bundleDashboard } from './bundle.ts';

/**
 * A plugin for building an executable, which contains no sources to bundle at run time: it bundles the dashboard now and
 * replaces `bundle.ts` with the result.
 */
export async function embedDashboard(): Promise<BunPlugin> {
  const files = await bundleDashboard();
  const contents = `const files = ${JSON.stringify(files)};\nexport const bundleDashboard = async () => files;\n`;
  return {
    name: 'embed-dashboard',
    setup(build) {
      build.onLoad({ filter: /[/\\]api[/\\]dashboard[/\\]bundle\.ts$/ }, () => ({ contents, loader: 'js' }));
    },
  };
}
