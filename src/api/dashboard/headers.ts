/**
 * The security headers of the dashboard and of the API reference. They are in one file, so that neither is less strict
 * by accident.
 */

/**
 * Only resources of this origin, nothing inline, no embedding in frames, no form submission. Images may be data URLs, which
 * style sheets use for icons.
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

/** Forbids scripts to create HTML from strings. Swagger UI does; the dashboard does not. */
const NO_HTML_FROM_STRINGS = ["require-trusted-types-for 'script'", "trusted-types 'none'"];

/**
 * Also sent with scripts, styles and images, so that other origins cannot load them, and browsers do not guess their
 * type.
 */
export const ASSET_HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
} as const;

const SHARED_HEADERS = {
  ...ASSET_HEADERS,
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  // For browsers without support for frame-ancestors.
  'x-frame-options': 'DENY',
} as const;

export const DASHBOARD_HEADERS = {
  ...SHARED_HEADERS,
  'content-security-policy': [...POLICY, ...NO_HTML_FROM_STRINGS].join('; '),
} as const;

/** The reference is rendered by Swagger UI, which needs HTML from strings. */
export const REFERENCE_HEADERS = { ...SHARED_HEADERS, 'content-security-policy': POLICY.join('; ') } as const;
