import { expect, test } from 'bun:test';
import { resolve } from 'node:path';

const SOURCE = resolve(import.meta.dir, '../../src');

/** The modules of Tron and Solana that a process has loaded which starts the service's code for these networks. */
async function loadedFor(networkIds: readonly number[]): Promise<string[]> {
  const program = `
    await import('${SOURCE}/service.ts');
    const { loadFamilies } = await import('${SOURCE}/chain/families.ts');
    await loadFamilies(${JSON.stringify(networkIds)});
    console.log(JSON.stringify(Object.keys(require.cache)));`;
  const { stdout } = Bun.spawn([process.execPath, '-e', program], { stdout: 'pipe', stderr: 'ignore' });
  const modules = JSON.parse(await new Response(stdout).text()) as string[];
  return modules.filter((path) => /[\\/]chain[\\/](tron|solana)[\\/]/.test(path.slice(SOURCE.length)));
}

test('without their networks, the code of Tron and Solana is not loaded', async () => {
  expect(await loadedFor([8453])).toEqual([]);
  expect((await loadedFor([900])).length).toBeGreaterThan(10);
});
