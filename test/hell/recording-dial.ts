import type { Dial } from '../../src/delivery/sender.ts';

export const PUBLIC = '93.184.216.34';
export const PUBLIC_V6 = '2606:4700:4700::1111';

const LOOPBACK = /^(127\.|0\.0\.0\.0$|localhost\.?$|\[::1?\]$|\[::ffff:7f|\[::7f)/;

/**
 * Stands in the place of dialling: dials loopback for real, where a canary listens, and answers for everything else by
 * itself, so that even a broken guard reaches no other machine.
 */
export function recordingDial(answer: () => Response = () => new Response('public')) {
  const dialled: string[] = [];
  const dial: Dial = async (url, init) => {
    dialled.push(url);
    return LOOPBACK.test(new URL(url).hostname) ? fetch(url, init) : answer();
  };
  return { dialled, dial };
}
