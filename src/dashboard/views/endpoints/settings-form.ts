import type { Endpoint, EndpointUpdate } from '../../../client/endpoints.ts';

/** The fields that the form changes. Texts that the server would reject are passed on, because its errors say what is wrong. */
export function updateOf(endpoint: Endpoint, form: FormData): EndpointUpdate {
  const name = textOf(form, 'name') || null;
  const rate = textOf(form, 'rateLimit');
  const rateLimit = rate === '' ? null : /^-?[0-9]+$/.test(rate) ? Number(rate) : (rate as unknown as number);
  const ordering = textOf(form, 'ordering') as Endpoint['ordering'];
  const secret = textOf(form, 'secret') as Endpoint['secret'];
  const headers = headersOf(form);
  return {
    ...(name !== endpoint.name && { name }),
    ...(rateLimit !== endpoint.rateLimit && { rateLimit }),
    ...(ordering !== endpoint.ordering && { ordering }),
    ...(secret !== endpoint.secret && { secret }),
    ...(Object.keys(headers).length > 0 && { headers }),
  };
}

function headersOf(form: FormData): Record<string, string | null> {
  const headers = Object.fromEntries(form.getAll('removedHeader').map((name) => [String(name), null]));
  const added = textOf(form, 'headerName');
  return added === '' ? headers : { ...headers, [added]: textOf(form, 'headerValue') };
}

function textOf(form: FormData, name: string): string {
  return String(form.get(name) ?? '').trim();
}
