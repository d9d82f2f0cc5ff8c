/** The headers of everything that a browser shows as a page, set in one place so that no page is more open than another. */

/**
 * Nothing from elsewhere, nothing inline, no frame around it, no form that leaves it. Images may be data URLs, as icons in
 * style sheets are.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];

/** No HTML made of strings, by any script. Swagger UI makes some; our own page makes none. */
const NO_HTML_FROM_STRINGS = ["require-trusted-types-for 'script'", "trusted-types 'none'"];

/** For scripts, styles and images as well: nobody else's page may load them, and their type is what we say it is. */
export const ASSET_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
} as const;

const SHARED_HEADERS = {
  ...ASSET_HEADERS,
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  // For browsers that do not know frame-ancestors.
  'x-frame-options': 'DENY',
} as const;

/** The page for people, all of which is ours. */
export const DASHBOARD_HEADERS = {
  ...SHARED_HEADERS,
  'content-security-policy': [...POLICY, ...NO_HTML_FROM_STRINGS].join('; '),
} as const;

/** The reference, which somebody else's script draws. */
export const REFERENCE_HEADERS = { ...SHARED_HEADERS, 'content-security-policy': POLICY.join('; ') } as const;
