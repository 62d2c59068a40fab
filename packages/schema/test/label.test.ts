import { expect, test } from 'vitest';
import { fileNameOf } from '../src/label.js';

const job = (label: string | null) => ({ label, task_id: 'ID' });

test('the thumbnail of a job has another name than its photo', () => {
  expect(fileNameOf(job('teapot.jpg'), '-thumbnail.jpg')).toBe('teapot-thumbnail.jpg');
});

test.each([
  ['teapot.jpg', 'teapot.glb'],
  ['IMG_1.HEIC', 'IMG_1.glb'],
  ['IMG_2.heif', 'IMG_2.glb'],
  ['scan.tif', 'scan.glb'],
  ['v1.5 chair', 'v1.5 chair.glb'],
  ['Täßchen 茶.png', 'Täßchen 茶.glb'],
  ['../../etc/passwd', 'etc-passwd.glb'],
  ['a<b>:c|d?.png', 'a-b-c-d-.glb'],
  ['.hidden', 'hidden.glb'],
  ['-rf.png', 'rf.glb'],
  ['con.png', 'con_.glb'],
  ['a\u0000b\u202Egpj.png', 'a bgpj.glb'],
  ['...', 'ID.glb'],
  [null, 'ID.glb'],
  ['茶'.repeat(100), `${'茶'.repeat(66)}.glb`],
])('the model of a job with the label %j is written to %s', (label, name) => {
  expect(fileNameOf(job(label), '.glb')).toBe(name);
});

test('a server cannot choose the folder of a download with the id of a job', () => {
  expect(fileNameOf({ label: null, task_id: '../../.profile' }, '.glb')).toBe('profile.glb');
  expect(fileNameOf({ label: null, task_id: 'C:\\Users\\a' }, '.glb')).toBe('C-Users-a.glb');
  expect(fileNameOf({ label: null, task_id: '../../..' }, '.glb')).toBe('model.glb');
});
