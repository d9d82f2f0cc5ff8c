import { afterEach, describe, expect, mock, spyOn, test } from 'bun:test';
import os from 'node:os';
import { createTargetGuard, type Resolve } from '../../../src/delivery/ssrf/target-guard.ts';

const PUBLIC = '93.184.216.34';
const PUBLIC_V6 = '2606:4700:4700::1111';
const EXAMPLE = new URL('https://example.com/hook');

/** Counts the lookups and resolves each to the next of the given lists, the last one for ever. */
function resolverOf(...results: string[][]) {
  const asked: string[] = [];
  const resolve: Resolve = async (hostname) => {
    asked.push(hostname);
    return results[Math.min(asked.length, results.length) - 1] ?? [];
  };
  return { asked, resolve };
}

function strictGuard(resolve: Resolve, nowMs?: () => number) {
  return createTargetGuard({ allowInsecureTargets: false, resolve, ...(nowMs && { nowMs }) });
}

describe('a target', () => {
  test('is all addresses of a name when every one is public', async () => {
    const { resolve } = resolverOf([PUBLIC_V6, PUBLIC]);
    expect(await strictGuard(resolve)(EXAMPLE)).toEqual({ ok: true, addresses: [PUBLIC_V6, PUBLIC] });
  });

  test.each([
    [['127.0.0.1']],
    [['::1']],
    [['10.0.0.7']],
    [['169.254.169.254']],
    [['168.63.129.16']],
    [['::ffff:127.0.0.1']],
    [['::7f00:1']],
    [['fe80::1%eth0']],
    [['not an address']],
    [['']],
    [[PUBLIC, '127.0.0.1']],
    [['127.0.0.1', PUBLIC]],
    [[PUBLIC, PUBLIC_V6, 'fd00::1']],
  ])('is blocked when its name resolves to %j', async (addresses) => {
    const { resolve } = resolverOf(addresses);
    expect(await strictGuard(resolve)(EXAMPLE)).toEqual({ ok: false, error: 'blocked_address' });
  });

  test.each(['https://127.0.0.1/', 'https://2130706433/', 'https://[::1]/', 'https://[::127.0.0.1]/', 'https://0/'])(
    'is blocked without a lookup when it is written as %s',
    async (url) => {
      const { asked, resolve } = resolverOf([PUBLIC]);
      expect(await strictGuard(resolve)(new URL(url))).toEqual({ ok: false, error: 'blocked_address' });
      expect(asked).toEqual([]);
    },
  );

  test('is the address itself when a public one is written', async () => {
    const { asked, resolve } = resolverOf([]);
    const guard = strictGuard(resolve);
    expect(await guard(new URL(`https://${PUBLIC}/`))).toEqual({ ok: true, addresses: [PUBLIC] });
    expect(await guard(new URL(`https://[${PUBLIC_V6}]:8443/`))).toEqual({ ok: true, addresses: [PUBLIC_V6] });
    expect(asked).toEqual([]);
  });

  test('may be private when insecure targets are allowed', async () => {
    const guard = createTargetGuard({ allowInsecureTargets: true, resolve: resolverOf(['127.0.0.1']).resolve });
    expect(await guard(EXAMPLE)).toEqual({ ok: true, addresses: ['127.0.0.1'] });
    expect(await guard(new URL('http://[::1]/'))).toEqual({ ok: true, addresses: ['::1'] });
  });

  test('is a dns error when the name has no address or the lookup fails', async () => {
    const failing: Resolve = () => Promise.reject(new Error('ENOTFOUND'));
    expect(await strictGuard(resolverOf([]).resolve)(EXAMPLE)).toEqual({ ok: false, error: 'dns' });
    expect(await strictGuard(failing)(EXAMPLE)).toEqual({ ok: false, error: 'dns' });
  });

  test('is looked up again where the clock was set back, and not kept until that is made up for', async () => {
    const { asked, resolve } = resolverOf([PUBLIC]);
    let nowMs = 10_000_000;
    const guard = strictGuard(resolve, () => nowMs);
    await guard(EXAMPLE);
    await guard(EXAMPLE);
    expect(asked).toHaveLength(1);
    nowMs -= 3_600_000;
    await guard(EXAMPLE);
    expect(asked).toHaveLength(2);
  });

  test('is found by the real resolver on this machine without blocking it', async () => {
    const guard = createTargetGuard({ allowInsecureTargets: true });
    const target = await guard(new URL('http://localhost/'));
    expect(target.ok && target.addresses.some((address) => ['127.0.0.1', '::1'].includes(address))).toBe(true);
    expect(await createTargetGuard({ allowInsecureTargets: false })(new URL('https://localhost/'))).toEqual({
      ok: false,
      error: 'blocked_address',
    });
  });
});

describe('an address of this machine', () => {
  afterEach(() => {
    mock.restore();
  });

  function haveOnly(...addresses: string[]) {
    const infos = addresses.map((address) => ({ address }) as os.NetworkInterfaceInfo);
    spyOn(os, 'networkInterfaces').mockReturnValue({ eth0: infos });
  }

  test.each([
    [PUBLIC, `https://${PUBLIC}/`, []],
    [PUBLIC, 'https://example.com/', [PUBLIC]],
    [PUBLIC, 'https://example.com/', ['93.184.216.99', PUBLIC]],
    [PUBLIC_V6, 'https://[2606:4700:4700:0:0:0:0:1111]/', []],
    ['2606:4700:4700:0:0:0:0:1111', 'https://example.com/', [PUBLIC_V6]],
  ])('is blocked although it is public: %s, requested as %s at %j', async (own, url, addresses) => {
    haveOnly('127.0.0.1', own);
    const guard = strictGuard(resolverOf(addresses).resolve);
    expect(await guard(new URL(url))).toEqual({ ok: false, error: 'blocked_address' });
  });

  test('is known some seconds after the machine got it', async () => {
    let nowMs = 0;
    haveOnly('127.0.0.1');
    const guard = strictGuard(resolverOf([]).resolve, () => nowMs);
    const url = new URL(`https://${PUBLIC}/`);
    expect(await guard(url)).toEqual({ ok: true, addresses: [PUBLIC] });
    haveOnly('127.0.0.1', PUBLIC);
    nowMs = 5_000;
    expect(await guard(url)).toEqual({ ok: false, error: 'blocked_address' });
  });
});

describe('lookups', () => {
  test('of one name at the same time are one', async () => {
    const { asked, resolve } = resolverOf([PUBLIC]);
    const guard = strictGuard(resolve);
    const targets = await Promise.all(Array.from({ length: 1000 }, () => guard(EXAMPLE)));
    expect(asked).toEqual(['example.com']);
    expect(targets.every((target) => target.ok)).toBe(true);
  });

  test('are repeated after some seconds, and a name that became private is then blocked', async () => {
    let nowMs = 0;
    const { asked, resolve } = resolverOf([PUBLIC], ['127.0.0.1']);
    const guard = strictGuard(resolve, () => nowMs);
    expect(await guard(EXAMPLE)).toEqual({ ok: true, addresses: [PUBLIC] });
    nowMs = 2_999;
    expect(await guard(EXAMPLE)).toEqual({ ok: true, addresses: [PUBLIC] });
    expect(asked).toHaveLength(1);
    nowMs = 3_000;
    expect(await guard(EXAMPLE)).toEqual({ ok: false, error: 'blocked_address' });
    expect(asked).toHaveLength(2);
  });

  test('that never end do not block their name for ever', async () => {
    let nowMs = 0;
    let asked = 0;
    const resolve: Resolve = () => (++asked === 1 ? new Promise(() => {}) : Promise.resolve([PUBLIC]));
    const guard = strictGuard(resolve, () => nowMs);
    void guard(EXAMPLE);
    nowMs = 10_000;
    expect(await guard(EXAMPLE)).toEqual({ ok: true, addresses: [PUBLIC] });
  });

  test('that have ended are synchronous', async () => {
    const guard = strictGuard(resolverOf([PUBLIC]).resolve);
    await guard(EXAMPLE);
    expect(guard(EXAMPLE)).toEqual({ ok: true, addresses: [PUBLIC] });
  });

  test('are remembered for a bounded number of names', async () => {
    const { asked, resolve } = resolverOf([PUBLIC]);
    const guard = strictGuard(resolve, () => 0);
    for (let index = 0; index <= 10_000; index++) await guard(new URL(`https://host-${index}.example.com/`));
    await guard(new URL('https://host-10000.example.com/'));
    expect(asked).toHaveLength(10_001);
    await guard(new URL('https://host-0.example.com/'));
    expect(asked).toHaveLength(10_002);
  });
});
