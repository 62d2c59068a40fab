// The certificate library uses decorators, which need this import first.
import 'reflect-metadata';
import { KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  BasicConstraintsExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { type AtEnd, temporaryFolder } from '../../../engine/src/temporary-folder.fixture.js';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const dayMs = 24 * 60 * 60 * 1_000;

export interface PrivateCa {
  /** Variables of a process that trusts the authority. */
  trusted: { NODE_EXTRA_CA_CERTS: string };
  /** The certificate and key of a server on loopback. */
  cert: string;
  key: string;
}

/** Creates a certificate authority for tests, and a certificate for 127.0.0.1. */
export async function makePrivateCa(atEnd?: AtEnd): Promise<PrivateCa> {
  const validity = { notBefore: new Date(Date.now() - dayMs), notAfter: new Date(Date.now() + dayMs) };
  const newKeys = () => crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const authority = await newKeys();
  const ca = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=gen3d test authority',
    serialNumber: '01',
    keys: authority,
    signingAlgorithm: algorithm,
    ...validity,
    extensions: [new BasicConstraintsExtension(true, 0, true), new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true)],
  });
  const host = await newKeys();
  const cert = await X509CertificateGenerator.create({
    subject: 'CN=127.0.0.1',
    issuer: ca.subject,
    serialNumber: '02',
    publicKey: host.publicKey,
    signingKey: authority.privateKey,
    signingAlgorithm: algorithm,
    ...validity,
    extensions: [new SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }])],
  });
  const key = KeyObject.from(host.privateKey).export({ type: 'pkcs8', format: 'pem' }).toString();
  const file = join(temporaryFolder(atEnd), 'ca.pem');
  writeFileSync(file, ca.toString('pem'));
  return { trusted: { NODE_EXTRA_CA_CERTS: file }, cert: cert.toString('pem'), key };
}
