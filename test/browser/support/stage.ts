import { Paybell } from '../../../src/client/paybell.ts';
import { tempFolder } from '../../support/paybell.ts';
import { type Credentials, startTestService } from '../../support/service.ts';
import { type Receiver, startReceiver } from './receiver.ts';

/** A service with its own store, a receiver, and a client that tests use to set up data. */
export type Stage = AsyncDisposable & {
  readonly url: string;
  readonly credentials: Credentials;
  readonly client: Paybell;
  readonly receiver: Receiver;
  readonly databaseFile: string;
};

export async function startStage(settings: Record<string, string> = {}): Promise<Stage> {
  const folder = tempFolder();
  const databaseFile = `${folder.path}/paybell.db`;
  const service = await startTestService(`sqlite:${databaseFile}`, settings);
  const { url } = service.client();
  const credentials = service.first;
  const receiver = startReceiver();
  return {
    url,
    credentials,
    client: new Paybell({ url, ...credentials }),
    receiver,
    databaseFile,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await receiver[Symbol.asyncDispose]();
      folder.remove();
    },
  };
}
