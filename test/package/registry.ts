import { createHash } from 'node:crypto';

/** An npm registry on loopback, so that an installation needs no network. */

export type RegistryPackage = {
  readonly manifest: { readonly name: string; readonly version: string; readonly [member: string]: unknown };
  /** The packed file; null for a package that is for other systems and is never downloaded. */
  readonly tarball: Uint8Array<ArrayBuffer> | null;
};

export type Registry = { readonly url: string; stop: () => Promise<void> };

export function startRegistry(packages: readonly RegistryPackage[]): Registry {
  const byName = new Map(packages.map((each) => [each.manifest.name, each]));
  const server: Bun.Server<undefined> = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ url }) => {
      const { pathname } = new URL(url);
      const isFile = pathname.startsWith('/-/');
      const found = byName.get(decodeURIComponent(pathname.slice(isFile ? 3 : 1)));
      if (found === undefined) return new Response('{}', { status: 404 });
      if (!isFile) return Response.json(documentOf(found, server.url.href));
      return found.tarball === null ? new Response(null, { status: 404 }) : new Response(found.tarball);
    },
  });
  return { url: server.url.href, stop: () => server.stop(true) };
}

function documentOf({ manifest, tarball }: RegistryPackage, url: string) {
  const { name, version } = manifest;
  const integrity = `sha512-${createHash('sha512')
    .update(tarball ?? '')
    .digest('base64')}`;
  const dist = { tarball: `${url}-/${encodeURIComponent(name)}`, integrity };
  return { name, 'dist-tags': { latest: version }, versions: { [version]: { ...manifest, dist } } };
}
