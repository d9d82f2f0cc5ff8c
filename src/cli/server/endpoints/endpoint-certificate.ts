import type { Command } from 'commander';
import type { Endpoint, EndpointUpdate } from '../../../client/endpoints.ts';
import { MAX_CERTIFICATE_LENGTH } from '../../../domain/endpoints/client-certificate.ts';
import type { OptionValues } from '../../options/list-options.ts';
import { CommandError, UsageError } from '../../terminal/command-error.ts';
import { printJson, printLine, showDate } from '../../terminal/output.ts';
import { addServerOptions, openSession } from '../session.ts';

/** `endpoints certificate`: sets the client certificate for connections to an endpoint. */
export function addEndpointCertificate(endpoints: Command, exampleId: string): void {
  const command = endpoints
    .command('certificate')
    .description('identify connections to an endpoint with a client certificate (mutual TLS), or no longer')
    .argument('<endpointId>', 'id of the endpoint')
    .argument('[certificate]', 'file with the certificate in PEM, followed by the certificates that issued it')
    .argument('[key]', 'file with its private key in PEM, without a passphrase')
    .option('--remove', 'remove the certificate');
  addServerOptions(command, [
    `endpoints certificate ${exampleId} client.pem client.key`,
    `endpoints certificate ${exampleId} --remove`,
  ]).action(setCertificate);
}

type Options = OptionValues & { remove?: boolean };

async function setCertificate(
  endpointId: string,
  certificate: string | undefined,
  key: string | undefined,
  { remove = false, ...options }: Options,
): Promise<void> {
  const { client, json } = openSession(options);
  const clientCertificate = await readGiven(certificate, key, remove);
  const endpoint = await client.endpoints.update(endpointId, { clientCertificate });
  if (json) return printJson(endpoint);
  printLine(
    clientCertificate === null
      ? `Connections to ${endpointId} have no certificate.`
      : `Connections to ${endpointId} identify themselves with ${showCertificate(endpoint)}.`,
  );
}

async function readGiven(
  certificate: string | undefined,
  key: string | undefined,
  remove: boolean,
): Promise<NonNullable<EndpointUpdate['clientCertificate']> | null> {
  if (remove && certificate === undefined) return null;
  if (remove || certificate === undefined || key === undefined) {
    throw new UsageError('give the files of the certificate and of its key, or --remove alone');
  }
  return { certificate: await readPem(certificate), privateKey: await readPem(key) };
}

/**
 * Reads only the beginning, because a file of another kind can have any size. The server then rejects the text as too
 * long.
 */
async function readPem(file: string): Promise<string> {
  try {
    return await Bun.file(file)
      .slice(0, 2 * MAX_CERTIFICATE_LENGTH)
      .text();
  } catch {
    throw new CommandError(`cannot read ${file}`);
  }
}

export function showCertificate({ clientCertificate }: Pick<Endpoint, 'clientCertificate'>): string {
  if (clientCertificate === null) return 'none';
  const { subject, fingerprint, dateExpires } = clientCertificate;
  return `${subject}, which expires ${showDate(dateExpires)} (SHA-256 ${fingerprint})`;
}
