import { Paybell } from '../../../src/client/paybell.ts';
import { tempFolder } from '../../support/paybell.ts';
import { type Credentials, startTestService } from '../../support/service.ts';
import { type Receiver, startReceiver } from './receiver.ts';

/** A service with a store of its own, a receiver, and a client with which a test sets things up as an integrator would. */
export type Stage = AsyncDisposable & {
  readonly url: string;
  readonly credentials: Credentials;
  readonly client: Paybell;
  readonly receiver: Receiver;
  readonly databaseFile: string;
};

export async function setStage(settings: Record<string, string> = {}): Promise<Stage> {
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
