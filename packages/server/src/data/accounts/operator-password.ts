import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { Db, Queryable } from '../db/database.js';

interface Cost {
  /** The binary logarithm of scrypt's N. */
  ln: number;
  r: number;
  p: number;
}

/** Checking a password takes 32 MiB and about 0.1 s, off the event loop. Source: OWASP Password Storage Cheat Sheet. */
const cost: Cost = { ln: 15, r: 8, p: 3 };
const hashBytes = 32;

const scryptAsync = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(
  scrypt,
);

function derive(password: string, salt: Buffer, { ln, r, p }: Cost): Promise<Buffer> {
  const N = 2 ** ln;
  // NFKC: keyboards may compose the same letters differently (NIST SP 800-63B, 3.1.1.2). `maxmem` must exceed the need.
  return scryptAsync(password.normalize('NFKC'), salt, hashBytes, { N, r, p, maxmem: 2 * 128 * N * r });
}

const base64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');

/** Returns a PHC string. It includes the cost, which later versions may raise. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const hash = await derive(password, salt, cost);
  return `$scrypt$ln=${cost.ln},r=${cost.r},p=${cost.p}$${base64(salt)}$${base64(hash)}`;
}

/** @throws {Error} if `stored` is not a PHC string of scrypt */
export async function verifyPassword(password: string, stored: string): Promise<boolean> {
  const [, ln, r, p, salt, hash] = /^\$scrypt\$ln=(\d+),r=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/.exec(stored) ?? [];
  if (salt === undefined || hash === undefined)
    throw new Error('The stored operator password is damaged. Set it again');
  const expected = Buffer.from(hash, 'base64');
  const found = await derive(password, Buffer.from(salt, 'base64'), { ln: Number(ln), r: Number(r), p: Number(p) });
  return found.length === expected.length && timingSafeEqual(found, expected);
}

/** Lets the operator sign in without a link, if set. */
export class OperatorPassword {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  async #stored(): Promise<string | undefined> {
    return (await this.#db.selectFrom('operator_password').select('hash').executeTakeFirst())?.hash;
  }

  async isSet(): Promise<boolean> {
    return (await this.#stored()) !== undefined;
  }

  /** Takes the result of `hashPassword`. */
  async set(trx: Queryable, hash: string): Promise<void> {
    await trx
      .insertInto('operator_password')
      .values({ id: 1, hash })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ hash }))
      .execute();
  }

  async remove(trx: Queryable): Promise<void> {
    await trx.deleteFrom('operator_password').execute();
  }

  /** Checks a password. False if no password is set. */
  async matches(password: string): Promise<boolean> {
    const stored = await this.#stored();
    return stored !== undefined && (await verifyPassword(password, stored));
  }
}
