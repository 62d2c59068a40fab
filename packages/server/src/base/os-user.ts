import { userInfo } from 'node:os';

function osUser(): string {
  try {
    return userInfo().username;
  } catch {
    // Users in containers often have no name.
    return String(process.getuid?.());
  }
}

/** Who runs a command of gen3d, for the audit log. */
export const commandUser = (command: string): string => `gen3d ${command} (OS user ${osUser()})`;
