import { createSender } from '../../src/delivery/sender.ts';

/** Posts to the given URL again and again, several at a time, and prints by how much that made the process grow. */

const [postUrl = '', times = '0', timeoutMs = '0'] = process.argv.slice(2);
const AT_A_TIME = 8;
const SAMPLE_MS = 10;

const sender = createSender({ timeoutMs: Number(timeoutMs), allowInsecureTargets: true, userAgent: 'Paybell/test' });
let posts = 0;

async function post(): Promise<void> {
  await sender.send({ postUrl, headers: {}, body: '{}' });
  posts++;
}

/** The first ones fill pools and compile code: that is no growth. */
await Promise.all(Array.from({ length: AT_A_TIME }, post));
Bun.gc(true);
const before = process.memoryUsage.rss();
let most = before;
const sampling = setInterval(() => {
  most = Math.max(most, process.memoryUsage.rss());
}, SAMPLE_MS);
for (let round = 0; round < Number(times); round++) await Promise.all(Array.from({ length: AT_A_TIME }, post));
clearInterval(sampling);
process.stdout.write(JSON.stringify({ grownBytes: most - before, posts }));
process.exit(0);
