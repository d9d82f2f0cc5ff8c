/** Notations of addresses that must not be reachable from outside, as the host of a URL. */

type Bytes = readonly [number, number, number, number];

/** Where an attacker wants to get. */
const PLACES: readonly Bytes[] = [
  [127, 0, 0, 1],
  [0, 0, 0, 0],
  [10, 0, 0, 7],
  [172, 16, 0, 9],
  [192, 168, 1, 1],
  [169, 254, 169, 254],
  [100, 100, 100, 200],
  [168, 63, 129, 16],
];

const FULL_WIDTH_ZERO = 0xff10;
const CIRCLED_ONE = 0x2460;
const BOLD_ZERO = 0x1d7ce;

const numberOf = ([a, b, c, d]: Bytes) => ((a * 256 + b) * 256 + c) * 256 + d;
const hex = (value: number) => value.toString(16);
const octal = (value: number) => `0${value.toString(8)}`;
const dotted = (bytes: Bytes) => bytes.join('.');
const groups = ([a, b, c, d]: Bytes) => `${hex(a * 256 + b)}:${hex(c * 256 + d)}`;
/** As Teredo hides the address of its client: every bit turned. */
const inverted = ([a, b, c, d]: Bytes) => groups([255 - a, 255 - b, 255 - c, 255 - d]);
const withDigits = (bytes: Bytes, spell: (digit: number) => string) =>
  dotted(bytes).replace(/\d/g, (digit) => spell(Number(digit)));
const circled = (digit: number) => (digit === 0 ? '⓪' : String.fromCodePoint(CIRCLED_ONE + digit - 1));
const escaped = (text: string) => text.replace(/./gu, (char) => (char === '.' ? char : encodeEvery(char)));
const encodeEvery = (char: string) =>
  [...Buffer.from(char)].map((byte) => `%${hex(byte).padStart(2, '0').toUpperCase()}`).join('');

const IPV4_FORMS: Readonly<Record<string, (bytes: Bytes) => string>> = {
  'four decimals': dotted,
  'a trailing dot': (bytes) => `${dotted(bytes)}.`,
  'one decimal number': (bytes) => String(numberOf(bytes)),
  'one hexadecimal number': (bytes) => `0x${hex(numberOf(bytes))}`,
  'one hexadecimal number in capitals': (bytes) => `0X${hex(numberOf(bytes)).toUpperCase()}`,
  'one octal number': (bytes) => octal(numberOf(bytes)),
  'four hexadecimals': (bytes) => bytes.map((byte) => `0x${hex(byte)}`).join('.'),
  'four octals': (bytes) => bytes.map(octal).join('.'),
  'padded octals': (bytes) => bytes.map((byte) => `00000${octal(byte)}`).join('.'),
  'mixed bases': ([a, b, c, d]) => `0x${hex(a)}.${octal(b)}.${c}.0x${hex(d)}`,
  'three parts': ([a, b, c, d]) => `${a}.${b}.${c * 256 + d}`,
  'two parts': ([a, b, c, d]) => `${a}.${(b * 256 + c) * 256 + d}`,
  'percent-encoded digits': (bytes) => escaped(dotted(bytes)),
  'full-width digits': (bytes) => withDigits(bytes, (digit) => String.fromCodePoint(FULL_WIDTH_ZERO + digit)),
  'full-width digits, encoded': (bytes) =>
    escaped(withDigits(bytes, (digit) => String.fromCodePoint(FULL_WIDTH_ZERO + digit))),
  'circled digits': (bytes) => withDigits(bytes, circled),
  'bold digits, encoded': (bytes) => escaped(withDigits(bytes, (digit) => String.fromCodePoint(BOLD_ZERO + digit))),
  'ideographic full stops': (bytes) => bytes.join('。'),
  'full-width full stops, encoded': (bytes) => bytes.join(encodeEvery('．')),
  'half-width full stops, encoded': (bytes) => bytes.join(encodeEvery('｡')),
};

const IPV6_FORMS: Readonly<Record<string, (bytes: Bytes) => string>> = {
  'IPv4-mapped': (bytes) => `[::ffff:${dotted(bytes)}]`,
  'IPv4-mapped in hexadecimal': (bytes) => `[::ffff:${groups(bytes)}]`,
  'IPv4-mapped in full': (bytes) => `[0:0:0:0:0:FFFF:${groups(bytes)}]`,
  'IPv4-compatible': (bytes) => `[::${dotted(bytes)}]`,
  'IPv4-translated': (bytes) => `[::ffff:0:${groups(bytes)}]`,
  NAT64: (bytes) => `[64:ff9b::${dotted(bytes)}]`,
  'NAT64 of a local prefix': (bytes) => `[64:ff9b:1::${groups(bytes)}]`,
  '6to4': (bytes) => `[2002:${groups(bytes)}::1]`,
  'Teredo, as the server': (bytes) => `[2001:0:${groups(bytes)}::1]`,
  'Teredo, as the client': (bytes) => `[2001:0:4136:e378:8000:63bf:${inverted(bytes)}]`,
  'ISATAP on the link': (bytes) => `[fe80::5efe:${dotted(bytes)}]`,
};

/** Hosts that are addresses, by how they are written. */
export const ADDRESS_HOSTS: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    Object.entries({ ...IPV4_FORMS, ...IPV6_FORMS }).map(([form, write]) => [form, PLACES.map(write)]),
  ),
  'a short form of loopback': [
    '127.1',
    '127.0.1',
    '0x7f.1',
    '0177.1',
    '0',
    '00',
    '0x0',
    '127.255.255.254',
    '127.127.127.127',
  ],
  'loopback and nothing in IPv6': ['[::1]', '[0:0:0:0:0:0:0:1]', '[0000::0001]', '[::0.0.0.1]', '[::]', '[::0]'],
  'metadata of a large cloud': [
    '169.254.170.2', // Amazon, containers
    '169.254.170.23', // Amazon, pods
    '[fd00:ec2::254]', // Amazon
    '[fd00:ec2::23]', // Amazon, pods
    '[fd20:ce::254]', // Google
    '[fd00:c1::a9fe:a9fe]', // Oracle
    '192.0.0.192', // Oracle, classic
    '169.254.42.42', // Scaleway
    '[fd00:42::42]', // Scaleway
    '169.254.0.23', // Tencent
    '[fe80::a9fe:a9fe]', // OpenStack
    '[fd00:a9fe:a9fe::1]', // Akamai
  ],
  'a private, shared or local range': [
    '10.255.255.255',
    '172.31.255.255',
    '192.168.255.255',
    '169.254.1.1',
    '100.64.0.1',
    '100.127.255.255',
    '[fc00::1]',
    '[fdff:ffff::1]',
    '[fe80::1]',
    '[febf::1]',
    '[fec0::1]',
  ],
  'a reserved, test or multicast range': [
    '0.1.2.3',
    '192.0.0.8',
    '192.0.2.1',
    '192.88.99.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.250',
    '240.0.0.1',
    '255.255.255.255',
    '[ff02::1]',
    '[ff0e::1]',
    '[100::1]',
    '[2001:db8::1]',
    '[2001:2::1]',
    '[2001:10::1]',
    '[2001:20::1]',
    '[3fff::1]',
    '[5f00::1]',
    '[4000::1]',
    '[1::1]',
  ],
  'bound to a zone': ['[fe80::1%25eth0]', '[fe80::1%eth0]', '[::1%25lo]', '[::1%251]', '[2606:4700::1111%25eth0]'],
  'an overflow that some parsers wrap': [
    '383.0.0.1',
    '4294967297',
    '127.0.0.257',
    '0x17f000001',
    '127.16777216',
    '1.2.3.4.5',
  ],
};

/** Names that mean this machine or its network wherever one asks, and that no registration may hold. */
export const LOCAL_NAMES: readonly string[] = [
  'localhost',
  'localhost.',
  'LocalHost',
  'app.localhost',
  '%6c%6f%63%61%6c%68%6f%73%74',
  'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ',
  'local%C2%ADhost',
  'ｌｏｃａｌｈｏｓｔ',
  'localhost.localdomain',
  'ip6-localhost',
  'metadata',
  'metadata.google.internal',
  'METADATA.google.internal.',
  'instance-data.ec2.internal',
  'host.docker.internal',
  'gateway.docker.internal',
  'kubernetes.default.svc.cluster.local',
  'printer.local',
  'router.lan',
  'nas.home.arpa',
  'wiki.corp',
  'hidden.onion',
];

/** Whole URLs that look like one place to a reader and like another to a parser; `%s` is the canary's `host:port`. */
export const URL_TRICKS: readonly string[] = [
  'https://example.com@%s/',
  'https://example.com:443@%s/',
  'https://example.com%2f@%s/',
  'https://:@%s/',
  'https://@%s/',
  'https://%s\\@example.com/',
  'https:\\\\%s/',
  'https:/%s/',
  'https:%s/',
  'https:///%s/',
  'https://%s#@example.com/',
  'https://%s?@example.com/',
  'https://%s/\r\nHost: example.com',
  'htt\tps://%s/',
  'https://\n%s/',
  ' https://%s/',
  '\u0000https://%s/',
  'https://%s/#',
  'HTTPS://%s',
  '//%s/',
  'http://%s/',
  'ftp://%s/',
  'file://%s/etc/passwd',
  'gopher://%s/_POST',
  'dict://%s/',
  'ws://%s/',
  'wss://%s/',
  'unix://%s/var/run/docker.sock',
  'data:text/plain,%s',
  'javascript:fetch("https://%s")',
];
