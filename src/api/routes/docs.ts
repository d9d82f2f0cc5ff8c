import styles from 'swagger-ui-dist/swagger-ui.css' with { type: 'file' };
import bundle from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'file' };
import { ASSET_HEADERS, REFERENCE_HEADERS } from '../dashboard/headers.ts';

/** The API reference. This process serves everything that it loads, so it works offline. */

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Paybell API reference</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

const START = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  tryItOutEnabled: true,
  validatorUrl: null,
});
`;

export const docsFiles: Readonly<Record<string, () => Response>> = {
  '/docs': () => file(PAGE, 'text/html; charset=utf-8', REFERENCE_HEADERS),
  '/docs/start.js': () => file(START, 'text/javascript; charset=utf-8'),
  '/docs/swagger-ui.css': () => file(Bun.file(styles), 'text/css; charset=utf-8'),
  '/docs/swagger-ui-bundle.js': () => file(Bun.file(bundle), 'text/javascript; charset=utf-8'),
};

function file(body: string | Blob, type: string, headers: Record<string, string> = ASSET_HEADERS): Response {
  return new Response(body, { headers: { 'content-type': type, 'cache-control': 'no-cache', ...headers } });
}
