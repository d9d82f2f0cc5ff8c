import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { postUrlError } from '../../src/domain/post-url.ts';

const STRICT = { allowInsecureTargets: false };
const DEVELOPMENT = { allowInsecureTargets: true };

const FINE = [
  'https://example.com',
  'https://example.com/hook?a=1&b=%20',
  'HTTPS://Example.COM:8443/Hook',
  'https://example.com./hook',
  'https://xn--bcher-kva.example/hook',
  'https://under_score.example.com/',
  'https://93.184.216.34/hook',
  'https://[2606:4700:4700::1111]:8443/hook',
  'https://localhost.example.com/',
  'https://mylocal.com/',
  'https://example.com/path/with@sign',
];

const ALWAYS_REJECTED: Record<string, string[]> = {
  empty: [''],
  'at most 2048': [`https://example.com/${'a'.repeat(2029)}`],
  'percent-encode': [
    ' https://example.com',
    'https://example.com/a b',
    'https://exam\nple.com/',
    'https://exam\rple.com/',
    'https://exam\tple.com/',
    'https://example.com/\0',
    'https://example.com/\x7f',
    'https://bücher.example/',
    'https://127。0。0。1/',
    'https://①②⑦.0.0.1/',
  ],
  backslash: ['https:\\\\example.com', 'https://example.com\\@evil.example/'],
  fragment: ['https://example.com/#top', 'https://example.com/#', 'https://example.com#'],
  'absolute URL': [
    'example.com/hook',
    '//example.com/hook',
    '/hook',
    'https:example.com',
    'https:/example.com',
    'https:///example.com',
    'https://',
    'https://?x',
    'https://example.com:99999/',
    'https://example.com:port/',
    'https://[::1/',
    'https://[fe80::1%25eth0]/',
    'https://1.2.3.4.5/',
    'https://256.1.1.1/',
    'mailto:a@example.com',
  ],
  scheme: ['ftp://example.com/', 'file://example.com/etc/passwd', 'ws://example.com/'],
  'user information': [
    'https://user:secret@example.com/',
    'https://user@example.com/',
    'https://@example.com/',
    'https://:@example.com/',
  ],
  'port 0': ['https://example.com:0/', 'https://example.com:00/'],
  'DNS name': [
    'https://a..b.com/',
    'https://example.com../',
    'https://-a.example.com/',
    'https://a,b.example.com/',
    `https://${'a'.repeat(64)}.example.com/`,
    `https://${'a.'.repeat(130)}com/`,
  ],
};

const REJECTED_OUTSIDE_DEVELOPMENT: Record<string, string[]> = {
  scheme: ['http://example.com/'],
  'not public': [
    'https://127.0.0.1/',
    'https://127.0.0.1./',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0x7f.1/',
    'https://017700000001/',
    'https://0177.0.0.1/',
    'https://127.1/',
    'https://0/',
    'https://%31%32%37.0.0.1/',
    'https://127%E3%80%820%E3%80%820%E3%80%821/',
    'https://[::1]/',
    'https://[::]/',
    'https://[::127.0.0.1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:7f00:1]/',
    'https://[0:0:0:0:0:0:0:1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[2002:7f00:1::]/',
    'https://10.0.0.1/',
    'https://192.168.0.1:8443/',
    'https://169.254.169.254/latest/meta-data/',
    'https://168.63.129.16/',
    'https://[fd00:ec2::254]/',
    'https://224.0.0.1/',
  ],
  'local network': [
    'https://localhost/',
    'https://LOCALHOST/',
    'https://localhost./',
    'https://%6cocalhost/',
    'https://app.localhost/',
    'https://printer.local/',
    'https://metadata.google.internal/',
    'https://metadata.google.internal./',
    'https://host.docker.internal/',
    'https://localhost.localdomain/',
    'https://nas.home.arpa/',
    'https://router.lan/',
    'https://hidden.onion/',
    'https://intranet/',
    'https://intranet:8443/',
  ],
};

describe('a postUrl', () => {
  test.each(FINE)('%s is fine', (url) => {
    expect(postUrlError(url, STRICT)).toBeNull();
    expect(postUrlError(url, DEVELOPMENT)).toBeNull();
  });

  test('of 2048 characters is fine', () => {
    expect(postUrlError(`https://example.com/${'a'.repeat(2028)}`, STRICT)).toBeNull();
  });

  for (const [error, urls] of Object.entries(ALWAYS_REJECTED)) {
    test.each(urls)(`%j is rejected everywhere, with a message that says "${error}"`, (url) => {
      expect(postUrlError(url, STRICT)).toContain(error);
      expect(postUrlError(url, DEVELOPMENT)).toContain(error);
    });
  }

  for (const [error, urls] of Object.entries(REJECTED_OUTSIDE_DEVELOPMENT)) {
    test.each(urls)(`%j is rejected with "${error}" and the setting that accepts it in development`, (url) => {
      expect(postUrlError(url, STRICT)).toContain(error);
      expect(postUrlError(url, STRICT)).toEndWith('start the service with ALLOW_INSECURE_TARGETS=true');
      expect(postUrlError(url, DEVELOPMENT)).toBeNull();
    });
  }

  test('is refused for any IPv4 address of a private network, as one decimal number', () => {
    // Throws with a counterexample.
    fc.assert(
      fc.property(
        fc.integer({ min: 0x0a000000, max: 0x0affffff }),
        (address) => postUrlError(`https://${address}/`, STRICT)?.includes('not public') === true,
      ),
    );
  });

  test('of any text is accepted or rejected, and never throws', () => {
    // Throws with a counterexample.
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.webUrl(),
          fc.string().map((text) => `https://${text}`),
        ),
        (text) => {
          const error = postUrlError(text, STRICT);
          return error === null ? URL.canParse(text) : error.length > 0;
        },
      ),
    );
  });
});
