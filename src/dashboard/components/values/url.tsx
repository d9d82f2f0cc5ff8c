/** A URL with its host standing out: that is what tells one receiver from another. */
export function Address({ url }: { url: string }) {
  const parts = /^([a-z]+:\/\/)([^/?#]+)(.*)$/i.exec(url);
  if (parts === null) return <span class="address">{url}</span>;
  const [, scheme, host, rest] = parts;
  return (
    <span class="address" title={url}>
      <span class="muted">{scheme}</span>
      {host}
      <span class="muted">{rest}</span>
    </span>
  );
}
