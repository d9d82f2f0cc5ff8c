import { freePort, startServer, tempFolder } from '../harness/processes.ts';

/** Packages put a script on the PATH that changes the user and the folder, and the server itself here. */
const FOLDER_OF_PACKAGES = '/usr/lib/rabbitmq/bin';
export const RABBITMQ = Bun.which('rabbitmq-server', { PATH: `${FOLDER_OF_PACKAGES}:${process.env.PATH}` });

/** A node of its own with default settings, all of whose files are in a folder of its own. */
export async function startRabbitmq(binary: string) {
  const [port, namesPort, clusterPort] = [freePort(), freePort(), freePort()];
  const folder = tempFolder();
  const names = { ERL_EPMD_PORT: String(namesPort), ERL_EPMD_ADDRESS: '127.0.0.1' };
  await startNames(namesPort);
  const { pid } = await startServer({
    place: 'anywhere',
    command: [binary],
    folder,
    environment: {
      ...names,
      // With it, the script becomes the server instead of starting it, so that the process is the one to measure and to end.
      NOTIFY_SOCKET: `${folder}/none`,
      RABBITMQ_NODENAME: 'bench@localhost',
      RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
      RABBITMQ_NODE_PORT: String(port),
      RABBITMQ_DIST_PORT: String(clusterPort),
      RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
      RABBITMQ_MNESIA_BASE: `${folder}/data`,
      RABBITMQ_LOG_BASE: `${folder}/log`,
      RABBITMQ_CONF_ENV_FILE: `${folder}/none`,
      RABBITMQ_CONFIG_FILE: `${folder}/none`,
      RABBITMQ_ENABLED_PLUGINS_FILE: `${folder}/none`,
    },
    listening: /(completed with \d+ plugins)/,
  });
  return { url: `amqp://guest:guest@127.0.0.1:${port}`, pid };
}

/** The registry of names of Erlang, which RabbitMQ would otherwise start itself and leave running. */
async function startNames(port: number): Promise<void> {
  await startServer({
    place: 'anywhere',
    command: ['sh', '-c', `exec epmd -d -address 127.0.0.1 -port ${port} 2>&1`],
    listening: /(epmd running)/,
  });
}
