import * as THREE from 'three';
import { OrbitControls } from 'three/addons/controls/OrbitControls.js';
import { RoomEnvironment } from 'three/addons/environments/RoomEnvironment.js';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';

const canvas = document.querySelector('canvas');
const renderer = new THREE.WebGLRenderer({ canvas, antialias: true });
// Keeps a texture's colours where the light is bright, instead of cutting them off at white.
renderer.toneMapping = THREE.NeutralToneMapping;
const camera = new THREE.PerspectiveCamera(35);
const controls = new OrbitControls(camera, canvas);

const scene = new THREE.Scene();
scene.background = new THREE.Color('#f4f4f2');
// The material is rough and not metallic: light from all around shows it best.
scene.environment = new THREE.PMREMGenerator(renderer).fromScene(new RoomEnvironment()).texture;

// A gen3d model is one metre long, stands on y = 0 and looks along +z. An asset's URL works as well: they allow any origin.
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

// Drawn when something changes, not sixty times a second: a page with a model on it should not warm a phone.
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
