import { afterAll, beforeAll } from 'bun:test';
import { startTestService, type TestService } from './service.ts';
import { createTarget } from './stores.ts';

/** Starts a service on SQLite for the tests of a file or a block. */
export function serviceOfFile(): () => TestService {
  let service: TestService;
  let remove: () => void;
  beforeAll(async () => {
    const target = await createTarget('sqlite');
    remove = target.remove;
    service = await startTestService(target.url);
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    remove();
  });
  return () => service;
}
