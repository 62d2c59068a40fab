import * as THREE from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';
import { RoomEnvironment } from 'three/addons/environments/RoomEnvironment.js';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';

const canvas = document.querySelector('canvas');
const renderer = new THREE.WebGLRenderer({ canvas, antialias: true });
// Keeps the texture's colors in bright light instead of clipping them to white.
renderer.toneMapping = THREE.NeutralToneMapping;
const camera = new THREE.PerspectiveCamera(35);
const controls = new OrbitControls(camera, canvas);

const scene = new THREE.Scene();
scene.background = new THREE.Color('#f4f4f2');
// Light from all directions suits the rough, non-metallic material.
scene.environment = new THREE.PMREMGenerator(renderer).fromScene(new RoomEnvironment()).texture;

// A gen3d model is one meter long, stands on y = 0 and faces +z. Asset URLs work too, because they allow any origin.
const url = new URLSearchParams(location.search).get('model') ?? '/model.glb';
const { scene: model } = await new GLTFLoader().loadAsync(url);
scene.add(model);

const { center, radius } = new THREE.Box3().setFromObject(model).getBoundingSphere(new THREE.Sphere());
const distance = radius / Math.sin(THREE.MathUtils.degToRad(camera.fov / 2));
camera.position.copy(center).add(new THREE.Vector3(0.5, 0.35, 0.8).setLength(distance));
camera.near = distance / 100;
camera.far = distance * 10;
controls.target.copy(center);
controls.update();

// Draws only on changes, to save power.
const draw = () => {
  const { clientWidth, clientHeight } = canvas;
  renderer.setPixelRatio(devicePixelRatio);
  renderer.setSize(clientWidth, clientHeight, false);
  camera.aspect = clientWidth / clientHeight;
  camera.updateProjectionMatrix();
  renderer.render(scene, camera);
};
controls.addEventListener('change', draw);
addEventListener('resize', draw);
draw();
document.body.dataset.state = 'shown';
