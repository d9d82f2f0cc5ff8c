import type { BunPlugin } from 'bun';
import { bundleDashboard } from './bundle.ts';

/**
 * For whoever builds an executable with `Bun.build`: bundles the page now and puts the finished files in the place of the
 * module that would bundle it at the first visit, because an executable carries no sources.
 */
export async function embedDashboard(): Promise<BunPlugin> {
  const files = await bundleDashboard();
  const contents = `const files = ${JSON.stringify(files)};\nexport const bundleDashboard = async () => files;\n`;
  return {
    name: 'embed-page',
    setup(build) {
      build.onLoad({ filter: /[/\\]api[/\\]dashboard[/\\]bundle\.ts$/ }, () => ({ contents, loader: 'js' }));
    },
  };
}
