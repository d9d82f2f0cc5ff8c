/** Highlights the host, which tells endpoints apart. */
export function UrlText({ url }: { url: string }) {
  const parts = /^([a-z]+:\/\/)([^/?#]+)(.*)$/i.exec(url);
  if (parts === null) return <span class="url-text">{url}</span>;
  const [, scheme, host, rest] = parts;
  return (
    <span class="url-text" title={url}>
      <span class="muted">{scheme}</span>
      {host}
      <span class="muted">{rest}</span>
    </span>
  );
}
