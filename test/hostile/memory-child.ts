import { createSender } from '../../src/delivery/sender.ts';

/** Sends to the given URL again and again, several at a time, and prints by how much the process grew. */

const [postUrl = '', times = '0', timeoutMs = '0'] = process.argv.slice(2);
const AT_A_TIME = 8;
const SAMPLE_MS = 10;

const sender = createSender({ timeoutMs: Number(timeoutMs), allowInsecureTargets: true, userAgent: 'Paybell/test' });
let requests = 0;

async function send(): Promise<void> {
  await sender.send({ entityId: 'ent_1', postUrl, headers: {}, body: '{}' });
  requests++;
}

/** The first ones fill pools and compile code: that is no growth. */
await Promise.all(Array.from({ length: AT_A_TIME }, send));
Bun.gc(true);
const before = process.memoryUsage.rss();
let most = before;
const sampling = setInterval(() => {
  most = Math.max(most, process.memoryUsage.rss());
}, SAMPLE_MS);
for (let round = 0; round < Number(times); round++) await Promise.all(Array.from({ length: AT_A_TIME }, send));
clearInterval(sampling);
process.stdout.write(JSON.stringify({ grownBytes: most - before, requests }));
process.exit(0);
