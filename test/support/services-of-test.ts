import { cleanUpAfterEach } from './clean-up.ts';
import { type Served, type Settings, servePaybell, tempFolder } from './paybell.ts';

/** Makes folders and services that end with the test that made them. */
export function servicesOfTest() {
  const cleanUp = cleanUpAfterEach();
  const newFolder = (): string => {
    const { path, remove } = tempFolder();
    cleanUp.push(remove);
    return path;
  };
  const serve = async (folder: string, settings: Settings = {}): Promise<Served> => {
    const served = await servePaybell(folder, settings);
    cleanUp.push(() => served.child.kill('SIGKILL'));
    return served;
  };
  return { cleanUp, newFolder, serve };
}
